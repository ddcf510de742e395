// Building blocks of a page's figures: a table under each chart, a sentence with the finding, the paper's own value for comparison;
// and the page's style.
#pragma once
#include <algorithm>
#include <concepts>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/chart.hpp"
#include "lab/file_head.hpp"

namespace garner::lab {

std::string percent(std::optional<double> part);  // 0.123: "12.3 %"; a dash for a missing value

std::string ms_text(std::optional<double> ms);  // a dash for a missing value
void thin(std::vector<double>& ticks);          // keeps ticks that have space: each at least a tenth of the axis after the previous one

struct table {
  std::vector<std::string> head;  // a leading '<' marks a column of names
  std::vector<std::vector<std::string>> rows;

  std::string html(std::string const& what, bool open) const;
};

// How a run was measured: one name and value per line.
class fact_list {
 public:
  fact_list() = default;
  fact_list(std::string const& file, file_head const& head);  // of that file
  void add(char const* name, std::string const& value);
  std::string html() const;

 private:
  std::string rows_;
};

// The contents of one figure; `charts` is SVG already.
struct figure {
  std::string number, title;  // number: the paper's, or empty
  std::string said, key;      // of the paper; of colors, as HTML
  std::string finding = {}, charts = {};
  table numbers = {};
  std::string absent = {};  // the reason for a missing chart

  figure(std::string n, std::string t, std::string s = "", std::string k = "")
      : number(std::move(n)), title(std::move(t)), said(std::move(s)), key(std::move(k)) {}
  // Adds a row to the table. A double becomes a short number, and a missing one a dash.
  template <class... Cells>
  void row(Cells const&... cells) {
    numbers.rows.push_back({cell(cells)...});
  }

 private:
  static std::string cell(std::string_view text) { return std::string(text); }
  static std::string cell(std::optional<double> value) { return ms_text(value); }
  static std::string cell(double value) { return short_number(value); }
  static std::string cell(std::integral auto n) { return std::to_string(n); }
};
figure drawn(figure f, auto const&... charts) {  // with these as its charts
  ((f.charts += draw(charts)), ...);
  return f;
}
std::string title_of(figure const& f);
std::string html_of(figure const& f, std::string const& setting);
std::string place_of(file_head const& head);  // "Place cuda:0 (a device's name)"
std::string link_text(std::optional<double> gbs);
std::string graph_text(bench_graph const& graph);

std::string kept_text(double share);  // "near", "far, nothing kept", "far, 10 % of the rows kept"
// A group of two bars, the stages in sequence and as they overlapped, and a row of the table. `waited`: the caller, the loader.
bar_chart stages_chart(figure& f, char const* first_column, char const* unit);
void add_stages(figure& f, bar_chart& c, std::string const& name, std::vector<double> const& stages, double ms,
                std::pair<std::optional<double>, std::optional<double>> const& waited);
std::string key_of(char const* papers, char const* own);  // of the colors

// The rows of a run, or of one graph of it: those that were measured, and the others.
template <class Row>
class run_rows {
 protected:
  explicit run_rows(std::vector<Row> const& rows, std::string const& graph = "") {  // empty: of all
    for (Row const& r : rows) {
      if constexpr (requires { r.graph; })
        if (!graph.empty() && r.graph != graph) continue;
      (r.skipped.empty() ? rows_ : skipped_).push_back(&r);
    }
  }

  std::vector<Row const*> of(std::string_view figure) const {
    std::vector<Row const*> all;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(all), [&](Row const* r) { return r->figure == figure; });
    return all;
  }
  template <class Is>
  Row const* first(std::string_view figure, Is const& is) const {  // null: none
    for (Row const* r : rows_)
      if (r->figure == figure && is(*r)) return r;
    return nullptr;
  }
  figure left_out(std::string title, std::string (*what)(Row const&)) const {  // what was not measured, and why
    figure f("", std::move(title));
    f.numbers.head = {"<what", "<why"};
    for (Row const* r : skipped_) f.numbers.rows.push_back({what(*r), r->skipped});
    return f;
  }

  std::vector<Row const*> rows_, skipped_;
};

// A file's part of the page: how it was measured, and those figures that have a chart or numbers.
class section {
 public:
  section(std::string const& heading, fact_list const& facts);
  void add(std::vector<figure> const& figures, std::string const& setting);
  std::string html() const { return html_ + "</section>\n"; }

 private:
  std::string html_;
};

// The section of a file that a tool wrote, with its one figure.
std::string measured_section(std::string const& heading, std::string const& name, auto const& run, figure const& f) {
  fact_list facts(name, {});
  facts.add("measured", run.date + (run.commit.empty() ? "" : ", commit " + run.commit)), facts.add("command", run.command);
  section s(heading + ": " + name, facts);
  s.add({f}, run.device);
  return s.html();
}

extern char const* const style;  // of a page, as CSS

}  // namespace garner::lab
