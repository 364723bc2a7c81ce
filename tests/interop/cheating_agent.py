"""An agent for Harbor that leaves no submission, but writes the reward itself wherever it can."""

from harbor.agents.base import BaseAgent


class Cheater(BaseAgent):
    """Writes the files that verifiers write, and replaces the tests."""

    @staticmethod
    def name() -> str:
        return "cheater"

    def version(self) -> str:
        return "1"

    async def setup(self, environment) -> None:
        pass

    async def run(self, instruction, environment, context) -> None:
        files = ["/logs/verifier/reward.json", "/logs/verifier/reward.txt", "/workspace/reward.json", "/tests/test.sh"]
        for file in files:
            content = '{"reward": 1.0}' if file.endswith(".json") else "1.0"
            await environment.exec(f"mkdir -p $(dirname {file}); echo '{content}' > {file}")
