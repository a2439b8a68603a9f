"""The report of a results folder: one page to read, and its figures as SVG and PNG."""

from lexbandit.report.page import write_report

__all__ = ["write_report"]
