#include "lab/figure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lab/chart.hpp"

namespace garner::lab {

// Colors: blue and vermilion of Okabe and Ito for the paper's strategies and ours, their others for curves and parts, darker on white and
// lighter on black, so that each has a contrast of at least 3:1 against the page; dashes also distinguish curves, lightness parts.
char const* const style = R"css(
:root{color-scheme:light dark;--page:#ffffff;--text:#1b1f24;--dim:#57606a;--rule:#d0d7de;--paper:#5b7fa6;--own:#c04a00;
--c0:#0072b2;--c1:#b34a00;--c2:#00775a;--c3:#a0468a;--c4:#6b6b00;--c5:#555555;--p0:#9c3d00;--p1:#d07a20;--p2:#5a8fbf;--p3:#003f66;--mark:#1b1f24}
@media (prefers-color-scheme:dark){:root{--page:#0f1419;--text:#e6edf3;--dim:#9aa7b4;--rule:#38424d;--paper:#7aa2cc;--own:#ff9a4d;
--c0:#56b4e9;--c1:#ff9a4d;--c2:#2fc79b;--c3:#e39cc4;--c4:#e6d84a;--c5:#c0c0c0;--p0:#ffb37a;--p1:#c9761f;--p2:#3f7fb5;--p3:#9fd0f5;--mark:#e6edf3}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;padding:12px;background:var(--page);color:var(--text);font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
header,section,footer{max-width:1240px;margin:0 auto 24px}
h1{font-size:1.5rem;line-height:1.2;margin:.3em 0}
h2{font-size:1.25rem;line-height:1.25;margin:1.2em 0 .4em;border-top:2px solid var(--rule);padding-top:.6em}
h3{font-size:1.05rem;line-height:1.3;margin:0 0 .3em}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,480px),1fr));gap:32px 40px;align-items:start}
figure{margin:0;min-width:0}
svg{display:block;width:100%;max-width:460px;height:auto;margin:.5em 0}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--text)}
svg .head{font-weight:600}
svg .dim{fill:var(--dim)}
svg .value{paint-order:stroke;stroke:var(--page);stroke-width:4px;stroke-linejoin:round}
.paper{fill:var(--paper)}.own{fill:var(--own)}
.part0{fill:var(--p0)}.part1{fill:var(--p1)}.part2{fill:var(--p2)}.part3{fill:var(--p3)}
.axis{stroke:var(--dim);stroke-width:1}.grid{stroke:var(--rule);stroke-width:1}
.mark0,.mark1{stroke:var(--mark);stroke-width:1.5;stroke-dasharray:6 3}.mark1{stroke-dasharray:2 3}
.curve{fill:none;stroke-width:2.2;stroke-linejoin:round}
.curve0{stroke:var(--c0)}.curve1{stroke:var(--c1);stroke-dasharray:7 3}.curve2{stroke:var(--c2);stroke-dasharray:2 2.5}
.curve3{stroke:var(--c3);stroke-dasharray:9 3 2 3}.curve4{stroke:var(--c4);stroke-dasharray:4 4}.curve5{stroke:var(--c5);stroke-dasharray:1 4}
.curve6{stroke:var(--mark);stroke-dasharray:12 3}
.finding{margin:.2em 0;font-weight:600}
.said,.setting{margin:.2em 0;font-size:.875rem;color:var(--dim)}
.key{display:inline-block;width:.8em;height:.8em;margin-right:.35em;vertical-align:-.05em}
.key.paper{background:var(--paper)}.key.own{background:var(--own)}
summary{font-size:.875rem;color:var(--dim);cursor:pointer;padding:.3em 0}
.scroll{overflow-x:auto;max-width:100%;margin:.4em 0;overflow-wrap:normal}
.scroll:focus-visible{outline:2px solid var(--own)}
table{border-collapse:collapse;font-size:.8125rem;line-height:1.35}
th,td{padding:.2em .6em .2em 0;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap;font-variant-numeric:tabular-nums}
th{font-weight:600;vertical-align:bottom}
th:first-child,td:first-child,th.name,td.name{text-align:left}
.facts td{white-space:normal;text-align:left}
.facts th{text-align:left;vertical-align:top}
code{font-size:.9em}
)css";

std::string percent(std::optional<double> part) { return part ? fmt::format("{} %", short_number(100 * *part)) : "-"; }

std::string ms_text(std::optional<double> ms) { return ms ? short_number(*ms) : "-"; }

void thin(std::vector<double>& ticks) {
  std::sort(ticks.begin(), ticks.end());
  std::vector<double> left;
  for (double const x : ticks)
    if (left.empty() || x - left.back() >= ticks.back() / 10) left.push_back(x);
  ticks = left;
}

void fact_list::add(char const* name, std::string const& value) {
  rows_ += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name, escaped(value));
}
fact_list::fact_list(std::string const& file, file_head const& head) {
  add("file", file);
  if (!head.time.empty()) add("measured", head.time + " with garner " + head.garner);
  if (!head.command.empty()) add("command", head.command);
}
std::string fact_list::html() const {
  return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"how it was measured\"><table class=\"facts\"><tbody>\n" +
         rows_ + "</tbody></table></div>\n";
}

std::string table::html(std::string const& what, bool open) const {
  if (rows.empty()) return "";
  // Long tables are collapsed, for short scrolling on a phone.
  std::string out =
      fmt::format("<details{}><summary>the numbers, {} row{}</summary>\n", open || rows.size() <= 6 ? " open" : "", rows.size(),
                  rows.size() == 1 ? "" : "s") +
      fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<thead><tr>", escaped(what));
  auto const name = [&](std::size_t i) { return !head[i].empty() && head[i][0] == '<'; };
  for (std::size_t i = 0; i < head.size(); ++i)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", name(i) ? " class=\"name\"" : "", escaped(name(i) ? head[i].substr(1) : head[i]));
  out += "</tr></thead>\n<tbody>\n";
  for (auto const& r : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < r.size(); ++i) out += fmt::format("<td{}>{}</td>", name(i) ? " class=\"name\"" : "", escaped(r[i]));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></details>\n";
}

std::string title_of(figure const& f) { return f.number.empty() ? f.title : fmt::format("{} (figure {})", f.title, f.number); }

std::string html_of(figure const& f, std::string const& setting) {
  std::string const title = title_of(f);
  std::string out = fmt::format("<figure>\n<h3>{}</h3>\n", escaped(title));
  if (!f.finding.empty()) {
    std::string finding = f.finding;
    if (finding[0] >= 'a' && finding[0] <= 'z') finding[0] = static_cast<char>(finding[0] - 'a' + 'A');
    out += fmt::format("<p class=\"finding\">{}</p>\n", escaped(finding));
  }
  if (!f.key.empty()) out += fmt::format("<p class=\"said\">{}</p>\n", f.key);
  out += f.charts;
  if (!f.said.empty()) out += fmt::format("<p class=\"said\">{}</p>\n", escaped(f.said));
  out += fmt::format("<p class=\"setting\">{}</p>\n", escaped(setting));
  return out + f.numbers.html(title, f.charts.empty()) + "</figure>\n";
}

std::string place_of(file_head const& h) { return "Place " + h.place + (h.device.empty() ? "" : " (" + h.device + ")"); }
std::string kept_text(double share) {
  return share == 1 ? "near" : share == 0 ? "far, nothing kept" : "far, " + percent(share) + " of the rows kept";
}
bar_chart stages_chart(figure& f, char const* first_column, char const* unit) {
  f.key = "Above: the stages as if one came after the other; below: as they ran.";
  f.numbers.head = {first_column, "sample",    "fetch",      "gather",        "model",
                    "together",   "as it ran", "overlapped", "caller waited", "loader waited"};
  return bar_chart(f.title, std::string(unit) + " by stage", unit, 0, {"sample", "fetch", "gather", "model"});
}
void add_stages(figure& f, bar_chart& c, std::string const& name, std::vector<double> const& stages, double ms,
                std::pair<std::optional<double>, std::optional<double>> const& waited) {
  double const sum = stages[0] + stages[1] + stages[2] + stages[3];
  c.groups.push_back({name, {{"stages", stages, short_number(sum)}, {"as they ran", {ms}, short_number(ms), true}}});
  f.row(name, stages[0], stages[1], stages[2], stages[3], sum, ms, percent(sum > 0 ? std::max(0.0, sum - ms) / sum : 0), waited.first,
        waited.second);
}
std::string key_of(char const* papers, char const* own) {
  return fmt::format("<span class=\"key paper\"></span>{} &nbsp; <span class=\"key own\"></span>{}", papers, own);
}
std::string link_text(std::optional<double> gbs) { return gbs ? fmt::format("carries {} GB/s", short_number(*gbs)) : "none was measured"; }
std::string graph_text(bench_graph const& g) {
  return fmt::format("{}: {} vertices, {} edges, {} training vertices", g.name, g.vertices, g.edges, g.train);
}

section::section(std::string const& heading, fact_list const& facts)
    : html_(fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n<section class=\"figures\">\n", escaped(heading), facts.html())) {}
void section::add(std::vector<figure> const& figures, std::string const& setting) {
  for (figure const& f : figures)
    if (!f.charts.empty() || !f.numbers.rows.empty()) html_ += html_of(f, setting);
}

}  // namespace garner::lab
