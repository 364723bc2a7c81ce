"""`assay study selftest`."""

import click

from assay.cli.output import as_json, echo_json, print_tables
from assay.core.errors import AssayError


@click.command("selftest")
@click.argument("what", type=click.Choice(["statistics"]))
@click.option("--short", is_flag=True, help="Simulate only a few designs of each kind.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random numbers.")
@click.option("--simulations", type=click.IntRange(100), default=1000, show_default=True, help="For each row.")
@as_json
def selftest_command(what: str, short: bool, seed: int, simulations: int, json_: bool) -> None:
    """Simulate whether intervals cover, tests hold and promises of power are kept.

    It fails if an interval covers in less than 93% of the simulations, a test rejects a true hypothesis in more than
    5.5%, or the power is more than 3 points from the 80% promised. Intervals that cover in more than 97.5% are wide.

    \b
    Examples:
      assay study selftest statistics --short
      assay study selftest statistics --seed 7
    """
    from assay.results.selftest import check_statistics, make_table

    checks = check_statistics(short=short, seed=seed, simulations=simulations)
    if json_:
        echo_json("selftest/1", seed=seed, simulations=simulations, checks=checks)
    else:
        print_tables([make_table(checks)])
    if failed := sum(not check.passed for check in checks):
        raise AssayError(f"{failed} of {len(checks)} checks of the {what} failed")
