"""Settings of the documentation site: ``make docs`` builds it into ``docs/_build/html``."""

from __future__ import annotations

import os
from pathlib import Path

import torelli
from torelli._numerics.threads import ProgressLine

ProgressLine._WAIT = float("inf")  # noqa: SLF001  (pages of the gallery show results, not progress)

# the gallery shows real data where they are: sphinx-gallery runs its scripts in their own folder
_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
if _DATA.is_dir():
    os.environ.setdefault("TORELLI_DATA", str(_DATA))

project = "torelli"
author = "The torelli developers"
copyright = author  # noqa: A001 (Sphinx's name)
version = release = torelli.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_static", "_templates"]
default_role = "py:obj"  # names in backticks become links
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# sphinx-gallery's settings hold objects that Sphinx cannot store between builds; links to CSV and JSON
# files of results become downloads
suppress_warnings = ["config.cache"]

html_theme = "pydata_sphinx_theme"
html_title = f"torelli {release}"
html_theme_options = {
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": f"torelli {release}"},
    "navigation_with_keys": True,
    "secondary_sidebar_items": {
        "**": ["page-toc", "sourcelink"],
        # the code of the gallery needs the width
        **{f"gallery/{script.stem}": [] for script in Path(__file__).parent.glob("../examples/plot_*.py")},
    },
    "show_toc_level": 2,
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars: dict[str, list[str]] = {"index": [], "ten_minutes": []}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

# the site builds without a network; with TORELLI_DOCS_ONLINE=1 names of other projects become links
intersphinx_mapping = (
    {
        "networkx": ("https://networkx.org/documentation/stable", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "python": ("https://docs.python.org/3", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }
    if os.environ.get("TORELLI_DOCS_ONLINE") == "1"
    else {}
)

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 60,
    "capture_repr": ("_repr_html_",),
    "reference_url": {"torelli": None},
    "doc_module": ("torelli",),
    "backreferences_dir": "generated/backreferences",
}
