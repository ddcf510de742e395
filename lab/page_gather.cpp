// The figures of chapter 3 for a run of `garner-lab gather`.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "lab/page.hpp"
#include "memory/budget.hpp"

namespace garner::lab {

namespace {

std::string grouped(std::uint64_t n) { return short_number(static_cast<double>(n)); }
std::string row_text(gather_row const& r) { return grouped(r.row_bytes) + " B"; }

// Before and after the comma at `at`; without one, the whole twice.
std::pair<std::string, std::string> parted(std::string const& label, std::size_t at) {
  return {label.substr(0, at), at == label.npos ? label : label.substr(at + 2)};
}

// One run, with lookups for the figures.
class gather_pages : run_rows<gather_row> {
 public:
  explicit gather_pages(gather_file const& f) : run_rows(f.rows), f_(f) {
    timed_ = std::any_of(f.rows.begin(), f.rows.end(), [](gather_row const& r) { return r.gbs.has_value(); });
  }

  figure unaligned() const {
    figure f("3.10", "Rows that do not begin on a line",
             "The paper, RTX 3090 on PCIe 4, a training on Wikipedia: copies of rows that the host gathered reach about half of either "
             "zero-copy way.");
    bar_chart c = chart("Figure 3.10: rows of 1,024 to 1,044 B by way");
    f.numbers.head = head({"<row", "<way"});
    double naive = 0, aligned = 0, staged = 0;
    for (gather_row const* r : of("unaligned")) {
      add(c, row_text(*r), r->strategy, *r, r->strategy == "aligned");
      f.numbers.rows.push_back(cells({row_text(*r), r->strategy}, *r));
      if (r->row_bytes != 1044) continue;
      (r->strategy == "naive" ? naive : r->strategy == "staged" ? staged : r->strategy == "aligned" ? aligned : ignored_) = value(*r);
    }
    if (naive > 0 && aligned > 0)
      f.finding =
          fmt::format("At 1,044 B \u2018aligned\u2019 {} {} {}, \u2018naive\u2019 {}{}.", timed_ ? "brings" : "sends", number(aligned),
                      unit(), number(naive), staged > 0 ? fmt::format(", \u2018staged\u2019 {}", number(staged)) : "");
    return drawn(std::move(f), c);
  }

  figure sizes() const {
    figure f("", "Rows of 128 B to 512 KiB", "From which size on a copy of its own a row is fair: where its curve meets the others.");
    f.numbers.head = head({"<row", "<way", "<order"});
    line_chart c("Rows of 128 B to 8 KiB by way", fmt::format("{} of each way against the bytes of a row", unit()), "a row, KiB", unit(),
                 {1, 2, 4, 6, 8}, false, !timed_);
    line_chart large("Rows of 8 KiB to 512 KiB by way", c.description, c.x_name, c.y_name, {8, 64, 128, 256, 512}, false, !timed_);
    std::vector<gather_row const*> const rows = of("sizes");
    std::map<std::string, double> copies, best;
    auto const add = [&](line_chart& to, gather_row const& r) {
      if (curve* const l = to.of(name_of(r))) l->points.emplace_back(static_cast<double>(r.row_bytes) / 1024, value(r));
    };
    // Copies per row are not simulated.
    bool const beyond = timed_ && std::any_of(rows.begin(), rows.end(), [](gather_row const* r) { return r->row_bytes > 8192; });
    for (gather_row const* r : rows) {
      f.numbers.rows.push_back(cells({row_text(*r), name_of(*r), r->order}, *r));
      std::string const key = grouped(r->row_bytes);
      double& most = r->strategy == "copies" ? copies[key] : best[key];
      most = std::max(most, value(*r));
      if (r->label.ends_with("automatic") || (r->strategy == "bulk" && r->order == "none") || value(*r) <= 0) continue;
      if (r->row_bytes <= 8192) add(c, *r);
      if (beyond && r->row_bytes >= 8192 && (r->strategy == "copies" || r->strategy == "aligned")) add(large, *r);
    }
    f.charts = draw(c);
    if (beyond) f.charts += draw(large);
    for (gather_row const* r : rows)
      if (std::string const key = grouped(r->row_bytes);
          timed_ && copies.contains(key) && best[key] > 0 && copies[key] >= 0.8 * best[key]) {
        f.finding = fmt::format("From {} B on a copy of its own a row reaches four fifths of the best gather.", key);
        break;
      }
    if (f.finding.empty() && timed_ && !copies.empty())
      f.finding = "At none of these sizes does a copy of its own a row reach four fifths of the best gather.";
    return f;
  }

  figure orders() const {
    figure f("", "Order and density of ids, rows of 512 B", "", timed_ ? key_of("asked for", "Garner's choice, or several at once") : "");
    f.numbers.head = head({"<ids", "<batches", "<order"});
    bar_chart c = chart("Rows of 512 B by order and number of ids"), many = chart("One mini-batch and eight at once");
    gather_row const *one = nullptr, *eight = nullptr;
    bool batches = false;
    for (gather_row const* r : of("orders")) {
      // Results with a batch count follow all others.
      batches = batches || r->batches > 1 || r->label.find("batch") != std::string::npos;
      bool const repeated = r->label.find("repeated") != std::string::npos;
      if (batches) {
        add(many, repeated ? "ids repeated as by sampling" : "random ids", fmt::format("{} x {}", r->batches, count_text(r->ids)), *r,
            r->batches > 1);
        if (!repeated) (r->batches > 1 ? eight : one) = r;
      } else {
        bool const chosen = r->label.ends_with("automatic");
        add(c, fmt::format("{} ids", count_text(r->ids)), chosen ? "automatic" : r->order, *r, chosen);
      }
      f.numbers.rows.push_back(cells({grouped(r->ids), grouped(r->batches) + (repeated ? ", repeated" : ""), r->order}, *r));
    }
    if (timed_ && one && eight && value(*one) > 0)
      f.finding = fmt::format("Eight mini-batches at once bring {} GB/s, one {}.", number(value(*eight)), number(value(*one)));
    return drawn(std::move(f), c, many);
  }

  figure dense() const {
    figure f("", "Sorted rows: loads of all multiprocessors versus the copy engine of 4", "",
             timed_ ? key_of("loads of all", "the copy engine of 4") : "");
    f.numbers.head = head({"<row", "<ids", "<batches", "<way"});
    std::map<std::uint64_t, bar_chart> charts;
    bar_chart many = chart("Rows of 512 B of eight mini-batches");
    gather_row const *engine = nullptr, *all = nullptr;  // the last of either
    for (gather_row const* r : of("dense")) {
      bool const bulk = r->strategy == "bulk", repeated = r->label.find("repeated") != std::string::npos;
      if (r->batches > 1) {
        add(many, repeated ? "ids repeated as by sampling" : "random ids", r->strategy, *r, bulk);
      } else {
        bar_chart& c = charts.try_emplace(r->row_bytes, chart(fmt::format("Sorted rows of {} B", grouped(r->row_bytes)))).first->second;
        add(c, fmt::format("{} ids", count_text(r->ids)), r->strategy, *r, bulk);
        (bulk ? engine : all) = r;
      }
      f.numbers.rows.push_back(
          cells({row_text(*r), grouped(r->ids), grouped(r->batches) + (repeated ? ", repeated" : ""), r->strategy}, *r));
    }
    for (auto const& [row, c] : charts) f.charts += draw(c);
    f.charts += draw(many);
    if (timed_ && engine && all && engine->ids == all->ids && engine->row_bytes == all->row_bytes)
      f.finding = fmt::format("{} sorted rows of {} B: {} GB/s by the copy engine of 4 multiprocessors, {} by loads of all.",
                              count_text(engine->ids), grouped(engine->row_bytes), number(value(*engine)), number(value(*all)));
    return f;
  }

  figure duplicates() const {
    figure f("", "Ids that repeat");
    f.numbers.head = head({"<what", "<order"});
    bar_chart c = chart("Random ids, and ids that each stand twice");
    gather_row const *once = nullptr, *each = nullptr;  // of the last size, each id twice
    for (gather_row const* r : of("duplicates")) {
      auto const [what, name] = parted(r->label, r->label.rfind(", "));
      add(c, what, name, *r, name == "automatic");
      if (name == "automatic") once = r;
      if (name == "each a read") each = r;
      f.numbers.rows.push_back(cells({r->label, r->order}, *r));
    }
    // If the choice fetched duplicates too (on the CPU), both differ by noise only. In older files sorted implies once.
    if (timed_ && once && each && (once->duplicates == "once" || (once->duplicates.empty() && once->order == "sorted")))
      f.finding = fmt::format("Rows of {} B that are each requested twice: {} GB/s, {} where each position is a read.",
                              grouped(once->row_bytes), number(value(*once)), number(value(*each)));
    return drawn(std::move(f), c);
  }

  figure share() const {
    figure f("3.12, 3.13", "Share of the device and bytes a load, rows of 4 KiB",
             "The paper, PCIe 4: some 20 % of the device with loads of 4 B, 5 % with 16 B; with 10 % by MPS no significant loss.");
    line_chart c("Figures 3.12 and 3.13: gathers on a share of the device",
                 "GB/s against the multiprocessors that a gather takes, a curve a load", "multiprocessors", "GB/s",
                 {1, 16, 32, 64, 96, 132});
    f.numbers.head = head({"multiprocessors", "<loads"});
    double most = 0;
    for (gather_row const* r : of("share")) most = std::max(most, value(*r));
    std::map<std::string, unsigned> enough;
    for (gather_row const* r : of("share")) {
      std::string const name = r->strategy == "bulk" ? "copy engine" : fmt::format("loads of {} B", r->load_bytes);
      if (curve* const l = c.of(name)) l->points.emplace_back(r->multiprocessors, value(*r));
      f.numbers.rows.push_back(cells({std::to_string(r->multiprocessors), name}, *r));
      if (value(*r) >= 0.95 * most) enough.try_emplace(name, r->multiprocessors);
    }
    for (curve& l : c.curves) std::sort(l.points.begin(), l.points.end());
    for (auto const& [name, sms] : enough) f.finding += fmt::format("{}{} with {}", f.finding.empty() ? "" : ", ", sms, name);
    if (!f.finding.empty()) f.finding = "Multiprocessors that reach 95 % of the best: " + f.finding + ".";
    return drawn(std::move(f), c);
  }

  figure others() const {
    figure f("", "Conversion, local rows, copies by the host");
    f.numbers.head = head({"<what"});
    bar_chart c = chart("Rows converted to f32, bytes delivered"), near = chart("Rows in the memory of devices"),
              host = chart("On the CPU, versus one memcpy per row of the same ids");
    for (char const* const figure : {"convert", "near", "copies"})
      for (gather_row const* r : of(figure)) {
        auto const [what, name] = parted(r->label, r->label.find(", "));
        bool const own = r->strategy != "copies";
        if (figure == std::string("convert")) add(c, what, name, *r, false);
        else if (figure == std::string("near")) add(near, what == name ? "" : name, row_text(*r), *r, false);
        else add(host, row_text(*r), own ? "gathered" : "one memcpy per row", *r, own);
        f.numbers.rows.push_back(cells({r->label}, *r));
      }
    return drawn(std::move(f), c, near, host);
  }

  figure beside() const {
    figure f("", "Arithmetic during a gather",
             "Slower: a kernel of arithmetic on the multiprocessors that the gather leaves, against all of them; and against the same ones "
             "without a gather.");
    f.numbers.head = {"<share",           "multiprocessors", "<way",           "row", "GB/s", "alone", "arithmetic with it, ms",
                      "whole device, ms", "slower",          "than without it"};
    gather_row const* best = nullptr;
    for (gather_row const* r : of("beside")) {
      if (!r->beside || !r->gbs) continue;
      gather_beside const& b = *r->beside;
      f.row(b.share, fmt::format("{} + {}", r->multiprocessors, b.rest), r->strategy + (r->order == "none" ? "" : ", " + r->order),
            grouped(r->row_bytes) + " B", *r->gbs, b.gather_alone_gbs, b.beside_ms, b.whole_ms, percent(b.slower()),
            percent(b.slower_than_alone()));
      if (!best || *r->gbs / (1 + b.slower()) > *best->gbs / (1 + best->beside->slower())) best = r;
    }
    if (best)
      f.finding = fmt::format(
          "During arithmetic, a gather of {} B rows on {} multiprocessors ({}, {}) brings {} GB/s, and the arithmetic takes {} longer.",
          grouped(best->row_bytes), best->multiprocessors, best->beside->share, best->strategy, short_number(*best->gbs),
          percent(best->beside->slower()));
    return f;
  }

  figure not_measured() const {
    return left_out("Not measured, so not shown", [](gather_row const& r) { return r.figure + ": " + r.label; });
  }

 private:
  char const* unit() const { return timed_ ? "GB/s" : "requests"; }
  double value(gather_row const& r) const { return timed_ ? r.gbs.value_or(0) : static_cast<double>(r.requests); }
  std::string number(double v) const { return timed_ ? short_number(v) : count_text(static_cast<std::uint64_t>(v)); }
  static std::string count_text(std::uint64_t n) {
    if (n >= 1000000) return short_number(static_cast<double>(n) / 1e6) + " M";
    return n >= 10000 ? short_number(static_cast<double>(n) / 1e3) + " k" : grouped(n);
  }
  static std::string name_of(gather_row const& r) {
    return r.strategy == "copies" ? "one copy per row" : r.label.ends_with("automatic") ? "automatic: " + r.strategy : r.strategy;
  }
  bar_chart chart(std::string title) const {
    bar_chart c(std::move(title), fmt::format("{} of each", unit()), timed_ ? "GB/s delivered" : "requests");
    if (timed_ && f_.link_gbs) c.marks = {{*f_.link_gbs, fmt::format("what the link carries: {} GB/s", short_number(*f_.link_gbs))}};
    return c;
  }
  void add(bar_chart& c, std::string const& group, std::string const& name, gather_row const& r, bool own) const {
    if (value(r) <= 0) return;
    c.of(group).push_back({name, {value(r)}, number(value(r)), own});
  }
  std::vector<std::string> head(std::vector<std::string> names) const {
    for (char const* more : {"GB/s", "ms", f_.link_gbs ? "% of the link" : "% of one copy per row", "requests"}) names.push_back(more);
    return names;
  }
  std::vector<std::string> cells(std::vector<std::string> names, gather_row const& r) const {
    for (std::string const& more :
         {ms_text(r.gbs), ms_text(r.ms), r.of_link ? short_number(100 * *r.of_link) : "-", r.requests ? count_text(r.requests) : "-"})
      names.push_back(more);
    return names;
  }

  gather_file const& f_;
  bool timed_ = false;
  mutable double ignored_ = 0;
};

}  // namespace

std::string section_of(named<gather_file> const& n) {
  gather_file const& r = n.run;
  std::string const setting =
      fmt::format("{}, a table of {} in host memory, medians of {}", place_of(r), format_bytes(r.table_bytes), r.trials);
  fact_list facts(n.name, r);
  facts.add("setting", setting + fmt::format(", seed {}, {} host threads", r.seed, r.threads));
  facts.add("link", link_text(r.link_gbs));
  section s("Gathers of rows: " + n.name, facts);
  gather_pages const p(r);
  s.add({p.unaligned(), p.sizes(), p.orders(), p.dense(), p.duplicates(), p.share(), p.beside(), p.others(), p.not_measured()}, setting);
  return s.html();
}

}  // namespace garner::lab
