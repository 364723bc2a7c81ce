"""The notebook of the examples runs from top to bottom in a fresh kernel."""

import shutil

import nbformat
import pytest
from nbclient import NotebookClient
from pages import ROOT


@pytest.mark.slow
def test_the_notebook_compares_two_agents(home, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_HOME", str(home.root))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    notebook = nbformat.read(tmp_path / "examples" / "compare_agents.ipynb", as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path / "examples"}}).execute()
    pages = [
        output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert len(pages) == 4, "tasks, the run, the frame and the comparison show themselves as tables"
    assert "Forest" in pages[1] and "verdict" in pages[3]
    score = notebook.cells[-1]["outputs"][0]["data"]["text/plain"]
    assert float(score) > 0
