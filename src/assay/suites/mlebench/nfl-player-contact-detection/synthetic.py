"""A miniature of the football data: players who touch are close to each other."""

from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

PLAYS, STEPS, PLAYERS = 22, 4, 4
START = np.datetime64("2020-09-11T03:01:48")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Labels of pairs of players and of players with the ground (G), tracking of players, and three videos per play."""
    labels: list[dict[str, Any]] = []
    tracking: list[dict[str, Any]] = []
    helmets: list[dict[str, Any]] = []
    videos: list[dict[str, Any]] = []
    games = 58_168 + make.rng.choice(400, PLAYS, replace=False)
    for game, number in zip(games, make.rng.integers(50, 5000, PLAYS), strict=True):
        play = f"{game}_{number:06d}"
        players = sorted((37_000 + make.rng.choice(9000, PLAYERS, replace=False)).tolist())
        for step in range(STEPS):
            time = f"{START + np.timedelta64(100 * step, 'ms')}".replace("T", " ")
            rows = _track(play, step, f"{time}+00:00", players, make)
            tracking += rows
            labels += _label(play, step, time, rows, make)
            helmets += [_helmet(play, step, row["nfl_player_id"], make) for row in rows]
        for view in ("All29", "Endzone", "Sideline"):
            path = job.raw / "train" / f"{play}_{view}.mp4"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(make.rng.bytes(400))
            videos.append({"game_play": play, "view": view, "start_time": "2020-09-11T03:01:43.134Z"})
    tables = {"labels": labels, "player_tracking": tracking, "baseline_helmets": helmets, "video_metadata": videos}
    for name, rows in tables.items():
        make.csv(job.raw / f"train_{name}.csv", {column: [row[column] for row in rows] for column in rows[0]})


def _track(play: str, step: int, time: str, players: list[int], make: Miniature) -> list[dict[str, Any]]:
    return [
        {
            "game_play": play,
            "nfl_player_id": player,
            "datetime": time,
            "step": step,
            "team": "home" if number % 2 else "away",
            "x_position": round(50 + float(make.rng.uniform(-2, 2)), 2),
            "y_position": round(25 + float(make.rng.uniform(-2, 2)), 2),
            "speed": round(float(make.rng.uniform(0, 6)), 2) if make.rng.random() < 0.95 else None,
        }
        for number, player in enumerate(players)
    ]


def _label(play: str, step: int, time: str, rows: list[dict[str, Any]], make: Miniature) -> list[dict[str, Any]]:
    """Players within a meter or two touch; one in ten lies on the ground."""
    labels = []
    for number, player in enumerate(rows):
        for other in [*rows[number + 1 :], None]:
            if other is None:
                second, touch = "G", make.rng.random() < 0.1
            else:
                second = str(other["nfl_player_id"])
                away = np.hypot(player["x_position"] - other["x_position"], player["y_position"] - other["y_position"])
                touch = away + make.rng.normal(0, 0.1) < 1.3
            first = player["nfl_player_id"]
            labels.append(
                {
                    "contact_id": f"{play}_{step}_{first}_{second}",
                    "game_play": play,
                    "datetime": f"{time}.000Z",
                    "step": step,
                    "nfl_player_id_1": first,
                    "nfl_player_id_2": second,
                    "contact": int(touch),
                }
            )
    return labels


def _helmet(play: str, step: int, player: int, make: Miniature) -> dict[str, Any]:
    left, top = make.rng.integers(0, 1200, 2).tolist()
    view = str(make.rng.choice(["Endzone", "Sideline"]))
    return {
        "game_play": play,
        "view": view,
        "video": f"{play}_{view}.mp4",
        "frame": 6 * step,
        "nfl_player_id": player,
        "left": left,
        "width": 20,
        "top": top,
        "height": 25,
    }
