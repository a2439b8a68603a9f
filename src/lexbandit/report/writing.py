"""`write_report`: from a results folder to its page and its pictures."""

from pathlib import Path

from lexbandit.errors import InvalidInput
from lexbandit.report.figures import figures_of
from lexbandit.report.html import Page
from lexbandit.report.layout import Figure
from lexbandit.report.reading import read_results
from lexbandit.report.rendering import file_spec, to_png, to_svg
from lexbandit.report.series import series_figures, series_title
from lexbandit.report.words import full_title


def write_report(directory: Path) -> Path:
    """Write DIR/report.html and DIR/figures/*.svg and *.png from a results folder; return the page.

    The page needs nothing else: scripts, styles and data are in it. A study that is not one of the
    paper's gets the figures that its data allow.
    """
    results = read_results(Path(directory))
    pictures = results.directory / "figures"
    report = results.directory / "report.html"
    page = Page(results)
    try:
        pictures.mkdir(exist_ok=True)
        for name, series in results.series.items():
            joint = series_figures(name, series)
            page.add_series(name, series, joint)
            for figure in joint:
                _draw(figure, f"{series_title(name, series)} – {figure.title}", pictures)
        for study in results.studies:
            figures = list(figures_of(study))
            page.add(study, figures)
            for figure in figures:
                _draw(figure, f"{full_title(study)} – {figure.title}", pictures)
        report.write_text(page.text(), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write the report to {directory}: {error.strerror}.") from error
    return report


def _draw(figure: Figure, title: str, pictures: Path) -> None:
    svg = to_svg(file_spec(title, figure.panels))
    (pictures / f"{figure.name}.svg").write_text(svg, encoding="utf-8")
    (pictures / f"{figure.name}.png").write_bytes(to_png(svg))
