"""The report of a results folder: one page to read, and its figures as SVG and PNG."""

from lexbandit.report.page import write_report
from lexbandit.report.results import read_results

__all__ = ["read_results", "write_report"]
