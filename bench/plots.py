"""Figures of make bench as SVG: how many times a peer, and how costs grow.

    plots.py FIGURES.json FOLDER

ratios.svg has a bar for each figure that stands beside a peer, on a logarithmic axis, and a tick
where a ratio is asked for. Each group of curves (streams, threads, ...) is a file of small panels
that share the axis below them. Nothing but Python's own library is needed, to draw or to look.
"""
import html
import json
import math
import os
import re
import sys

INK, PALE, BAR, MARK = "#222", "#ccc", "#4477aa", "#cc3311"
ROW, LABEL, WIDE = 16, 330, 420  # pixels of a bar's row, its label and the axis


def text(x, y, words, anchor="start", size=11, colour=INK):
    return ('<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" fill="%s">%s</text>'
            % (x, y, size, anchor, colour, html.escape(words)))


def line(x1, y1, x2, y2, colour=PALE, width=1.0):
    return ('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%g"/>'
            % (x1, y1, x2, y2, colour, width))


def save(path, width, height, parts, about):
    foot = "%s, %s, %s" % (about["yore"], about["date"][:10], about["machine"])
    with open(path, "w", encoding="utf-8") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
                   'viewBox="0 0 %d %d" font-family="sans-serif">\n'
                   '<rect width="100%%" height="100%%" fill="white"/>\n'
                   % (width, height + 24, width, height + 24))
        file.write("\n".join(parts + [text(8, height + 14, foot, size=9, colour="#777")]))
        file.write("\n</svg>\n")


def short(number):
    """1 200 000 as 1.2M."""
    for step, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= step:
            return "%.3g%s" % (number / step, letter)
    return "%.3g" % number


def ratios(rows, about, path):
    """Only where more is better: rates, beside those of somebody else's program."""
    rows = [row for row in rows if row["peer"] and row["unit"].startswith("M ")
            and not row["series"] and "thread" not in row["peer_name"]]
    if not rows:
        return
    values = [row["value"] / row["peer"] for row in rows]
    least, most = math.floor(math.log10(min(values + [1]))), math.log10(max(values)) + 0.1
    height = 40 + ROW * len(rows)
    parts = [text(8, 18, "times as fast as the program named, same work in the same run", size=13)]

    def place(value):
        return LABEL + (math.log10(value) - least) / (most - least) * WIDE

    for power in range(least, int(math.ceil(most))):
        for digit in (1, 2, 5):
            value = digit * 10.0 ** power
            if place(value) <= LABEL + WIDE:
                parts.append(line(place(value), 30, place(value), height))
                parts.append(text(place(value), 29, "%g" % value, "middle", 9))
    for i, (row, value) in enumerate(zip(rows, values)):
        y = 34 + ROW * i
        begin, end = sorted((place(1), place(value)))
        parts.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>'
                     % (begin, y, end - begin, ROW - 4, BAR))
        parts.append(text(LABEL - 6, y + 10, row["name"], "end", 10))
        parts.append(text(LABEL + WIDE + 6, y + 10, "%.3g × %s" % (value, row["peer_name"]),
                          size=10))
        if row["wanted"]:
            parts.append(line(place(row["wanted"]), y - 1, place(row["wanted"]), y + ROW - 3,
                              MARK, 2))
    save(path, LABEL + WIDE + 230, height, parts, about)


def panel(left, top, label, unit, points):
    """One curve: places on a logarithmic axis, values from 0."""
    wide, high = 220, 130
    begin, end = math.log(points[0][0]), math.log(points[-1][0])
    most = max(value for _, value in points) * 1.1 or 1
    parts = [text(left, top - 8, "%s (%s)" % (label, unit), size=11),
             line(left, top, left, top + high, INK), line(left, top + high, left + wide, top + high,
                                                          INK)]
    places = []
    for at, value in points:
        x = left + (math.log(at) - begin) / ((end - begin) or 1) * wide
        y = top + high - value / most * high
        places.append("%.1f,%.1f" % (x, y))
        parts += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (x, y, BAR),
                  text(x, y - 6, short(value), "middle", 9),
                  text(x, top + high + 13, short(at), "middle", 9)]
    parts.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>'
                 % (" ".join(places), BAR))
    return parts


def curves(rows, about, folder):
    groups = {}
    for row in rows:
        if row["series"]:
            group, _, label = row["series"][0].partition(": ")
            points = groups.setdefault(group, {}).setdefault((label, row["unit"]), [])
            points.append((row["series"][1], row["value"]))
    for group, lines in groups.items():
        parts, across = [text(8, 18, "by " + group, size=13)], 3
        for i, ((label, unit), points) in enumerate(lines.items()):
            parts += panel(30 + i % across * 280, 60 + i // across * 190, label, unit,
                           sorted(points))
        down = (len(lines) + across - 1) // across
        name = re.sub("[^a-z]+", "-", group.lower())
        save(os.path.join(folder, name + ".svg"), 30 + 280 * min(across, len(lines)),
             40 + 190 * down, parts, about)


def draw(about, rows, folder):
    os.makedirs(folder, exist_ok=True)
    ratios(rows, about, os.path.join(folder, "ratios.svg"))
    curves(rows, about, folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as figures:
        said = json.load(figures)
    draw(said, said["rows"], sys.argv[2])
