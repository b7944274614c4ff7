"""Keeps Gradio from writing into the installation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gradio import component_meta

__all__ = ["no_stub_files"]


@contextmanager
def no_stub_files() -> Iterator[None]:
    """Define subclasses of Gradio's components in this block.

    Their metaclass writes a ``.pyi`` beside each module that defines one: for editors, into whatever folder the program was
    installed in, and type checkers would read it instead of the module.
    """
    write = component_meta.create_or_modify_pyi
    component_meta.create_or_modify_pyi = lambda *_: None
    try:
        yield
    finally:
        component_meta.create_or_modify_pyi = write
