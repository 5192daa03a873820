"""What results have in common that are a document: what the command prints with ``--json``."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _files, _native


class Documented:
    """A result that a document tells."""

    document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The result as the command of the same name prints it with ``--json``; ``"schema"`` names its layout.

        Returns
        -------
        dict
        """
        return dict(self.document)

    def to_json(self, indent: int | None = 2) -> str:
        """The same as JSON.

        Parameters
        ----------
        indent : int or None, default=2
            Spaces per level, or None for one line.

        Returns
        -------
        str
        """
        return json.dumps(self.document, indent=indent, ensure_ascii=False)


class Paged(Documented):
    """A result whose document makes a page."""

    def to_html(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write the result as one self-contained page, as ``spadework report`` does.

        Parameters
        ----------
        path : path-like
            The file. An existing file is replaced only when the new one is complete.
        title : str, optional
            Title of the page.
        """
        _files.write_text(path, _native.page_of_document(json.dumps(self.document), title))
