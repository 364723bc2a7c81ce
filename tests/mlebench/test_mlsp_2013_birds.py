from pathlib import Path

import pandas as pd
from competition import Competition, Files, Miniatures, read_archive, read_prepared, read_table, to_csv
from graders import roc_auc

ARCHIVE = "mlsp_contest_dataset.zip"
LABELS = "public/essential_data/rec_labels_test_hidden.txt"
SEGMENTS = [
    f"supplemental_data/{name}.txt" for name in ("histogram_of_segments", "segment_features", "segment_rectangles")
]


class TestMlsp2013Birds(Competition):
    name = "mlsp-2013-birds"
    id = "Id"
    targets = ("Probability",)
    fixed_changes = (LABELS, *(f"public/{name}" for name in SEGMENTS[1:]))

    def prepare_reference(self, raw: Path) -> Files:
        members = {name.split("/", 1)[1]: content for name, content in read_archive(raw / ARCHIVE).items()}
        folds = read_table(members["essential_data/CVfolds_2.txt"])
        folds = folds[folds["fold"] == 0].reset_index(drop=True)
        new = {old: number for number, old in folds["rec_id"].items()}
        test = set(folds.sample(frac=0.2, random_state=0).index)
        names = read_table(members["essential_data/rec_id2filename.txt"])
        names = names[names["rec_id"].isin(new)]
        copied = {*names["filename"], "segment_clusters", "segment_mosaic", "species_list"}
        public = {name: content for name, content in members.items() if Path(name).stem in copied}
        folds = pd.DataFrame({"rec_id": folds.index, "fold": [int(number in test) for number in folds.index]})
        public["essential_data/CVfolds_2.txt"] = to_csv(folds)
        public["essential_data/rec_id2filename.txt"] = to_csv(names.assign(rec_id=names["rec_id"].map(new)))
        lines, answers = ["rec_id,[labels]"], []
        for line in read_lines(members["essential_data/rec_labels_test_hidden.txt"])[1:]:
            old, *labels = line.split(",")
            number = new.get(int(old))
            if number in test:
                lines.append(f"{number},?")
                answers += [(number * 100 + species, int(str(species) in labels)) for species in range(19)]
            elif number is not None:
                lines.append(",".join([str(number), *labels]))
        public["essential_data/rec_labels_test_hidden.txt"] = "".join(f"{line}\n" for line in lines).encode()
        for name in SEGMENTS:
            rows = [line.split(",", 1) for line in read_lines(members[name])[1:]]
            kept = [f"{new[int(old)]},{rest}" for old, rest in rows if int(old) in new]
            public[name] = "".join(f"{line}\n" for line in ["rec_id,[histogram of segment features]", *kept]).encode()
        ids = [number * 100 + species for number in sorted(test) for species in range(19)]
        public["sample_submission.csv"] = to_csv(pd.DataFrame({"Id": ids, "Probability": 0}))
        private = to_csv(pd.DataFrame(answers, columns=["Id", "Probability"]))
        return {**{f"public/{name}": content for name, content in public.items()}, "private/answers.csv": private}

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "Id", "Probability")

    def test_fixed_gives_each_text_file_its_own_header(self, miniatures: Miniatures) -> None:
        v1, fixed = (miniatures.prepared(self.name, edition) for edition in ("v1", "fixed"))
        members = read_archive(fixed.folder / "raw" / ARCHIVE)
        own = [read_lines(members[f"mlsp_contest_dataset/{name}"])[0] for name in SEGMENTS]
        for prepared, headers in ((v1, own[:1] * len(own)), (fixed, own)):
            files = read_prepared(prepared)
            assert [read_lines(files[f"public/{name}"])[0] for name in SEGMENTS] == headers

    def test_fixed_puts_a_comma_after_every_number_in_the_labels(self, miniatures: Miniatures) -> None:
        v1, fixed = (
            read_lines(read_prepared(miniatures.prepared(self.name, edition))[LABELS]) for edition in ("v1", "fixed")
        )
        assert any("," not in line for line in v1)
        assert fixed == [line if "," in line else f"{line}," for line in v1]


def read_lines(content: bytes) -> list[str]:
    return content.decode().splitlines()
