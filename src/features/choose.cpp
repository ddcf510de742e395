#include "features/choose.hpp"

#include <algorithm>
#include <cmath>

#include "core/fail.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {
constexpr std::uint64_t gib = std::uint64_t{1} << 30, granule = 64u << 10;

std::string grouped(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}
std::string rows_text(gather_question const& q) {
  return fmt::format("{} B rows of a {} table", grouped(q.row_bytes), format_bytes(q.far_rows * q.row_bytes));
}
}  // namespace

gather_figures gather_figures::shipped() { return {51, {{gib, 0}, {4 * gib, 0.040}, {16 * gib, 0.0315}, {48 * gib, 0.029}}, false}; }

gather_figures gather_figures::of(link_calibration const& link) {
  gather_figures f = shipped();
  f.zero_copy_gbs = link.zero_copy_gbs;
  f.measured = true;
  std::vector<reach> seen;
  for (row_rate const& r : link.random_rows) {
    if (r.row_bytes == 0 || r.table_bytes < gib) continue;
    // Rows that the link itself bounds say nothing of translations.
    double const rate = r.gbs < 0.8 * link.zero_copy_gbs && r.row_bytes >= 512 ? r.gbs / static_cast<double>(r.row_bytes) : 0;
    auto const at = std::find_if(seen.begin(), seen.end(), [&](reach const& s) { return s.table_bytes == r.table_bytes; });
    if (at == seen.end()) seen.push_back({r.table_bytes, rate});
    else at->translations = std::max(at->translations, rate);
  }
  std::sort(seen.begin(), seen.end(), [](reach const& a, reach const& b) { return a.table_bytes < b.table_bytes; });
  if (!seen.empty()) {
    for (reach const& s : f.tables)
      if (s.table_bytes > seen.back().table_bytes) seen.push_back(s);
    f.tables = seen;
  }
  return f;
}

double gather_figures::translations(std::uint64_t table_bytes) const {
  double rate = 0;
  for (reach const& r : tables)
    if (table_bytes > r.table_bytes / 4 * 3) rate = r.translations;
  return rate;
}

namespace {
double ms_of(double translated, double rate, double bytes, double gbs) {
  return std::max(rate > 0 ? translated / rate : 0, bytes / gbs) / 1e6;
}
}  // namespace
double gather_figures::unsorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes) const {
  // A row longer than a granule takes several.
  double const each = std::max(1.0, static_cast<double>(row_bytes) / granule);
  return ms_of(static_cast<double>(n) * each, translations(table_bytes), static_cast<double>(n) * static_cast<double>(row_bytes),
               zero_copy_gbs);
}
double gather_figures::sorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes) const {
  double const all = std::max(1.0, static_cast<double>(table_bytes) / granule);
  double const touched = std::max(1.0, static_cast<double>(row_bytes) / granule) * all * (1 - std::exp(-static_cast<double>(n) / all));
  return ms_of(touched, translations(table_bytes), static_cast<double>(n) * static_cast<double>(row_bytes), zero_copy_gbs);
}
double gather_figures::sort_ms(std::uint64_t n) { return 0.03 + 45e-9 * static_cast<double>(n); }

gather_run choose(gather_question const& q, gather_options const& options, gather_figures const& figures) {
  gather_run run;
  run.way = options.way, run.order = options.order;
  run.rows = q.ids;
  if (run.way == gather_way::bulk && q.converted)
    fail(errc::usage, "the copy engine brings rows as they are and converts none; say aligned, or no conversion");
  std::string way, order;
  bool const staged = run.way == gather_way::staged;
  if (run.way == gather_way::automatic) {
    run.way = gather_way::aligned;
    if (q.where.kind == place_kind::device && q.bulk_ready && !q.converted && q.row_bytes >= 1024 && q.row_bytes % 16 == 0 &&
        options.multiprocessors > 0 && options.multiprocessors < 8 && q.far_rows > 0) {
      run.way = gather_way::bulk;
      way = fmt::format("with {} multiprocessors the copy engine carries rows of 1 KiB and more best", options.multiprocessors);
    } else if (q.where.kind == place_kind::host) {
      way = "at the host a row is one copy, whatever the way";
    } else {
      way = "rows are read from a line on, in the widest loads that fit";
    }
  } else {
    way = fmt::format("{} as asked", to_string(run.way));
  }
  if (run.order != gather_order::automatic) {
    if (staged && run.order != gather_order::none)
      fail(errc::usage, "a staged gather takes ids as they come; say order none or another way than staged");
    order = fmt::format("order {} as asked", to_string(run.order));
  } else if (run.order = gather_order::none; staged) {
    order = "the host takes ids as they come";
  } else if (q.where.kind == place_kind::host) {
    order = "ids as they come, since nothing crosses a link";
  } else if (q.far_rows == 0) {
    order = "ids as they come, since no row lies in host memory";
  } else if (q.window && q.ids < (std::uint64_t{1} << 32)) {
    run.order = gather_order::sorted;  // whatever the model says of translations: what repeats crosses once
    order = fmt::format("{}: sorted, since mini-batches share rows and each far one is to cross once", rows_text(q));
  } else {
    std::uint64_t const table = q.far_rows * q.row_bytes;
    // Of ids that ask for every row alike, so many are for host memory.
    auto const far = static_cast<std::uint64_t>(static_cast<double>(q.ids) * static_cast<double>(q.far_rows) / static_cast<double>(q.rows));
    double const as_given = figures.unsorted_ms(far, q.row_bytes, table), in_order = figures.sorted_ms(far, q.row_bytes, table),
                 sort = figures.sort_ms(q.ids), bytes = static_cast<double>(far) * static_cast<double>(q.row_bytes) / 1e6;
    bool const pays = q.ids < (std::uint64_t{1} << 32) && in_order + sort < 0.97 * as_given;
    run.order = pays ? gather_order::sorted : gather_order::none;
    std::string const rates = far ? fmt::format("sorted {:.0f} GB/s with the sort, unsorted {:.0f} ({})", bytes / (in_order + sort),
                                                bytes / std::max(as_given, 1e-9), figures.measured ? "measured here" : "shipped figures")
                                  : std::string("too few to matter");
    order = fmt::format("{}: {} sorted ids share {} translations; {}", rows_text(q), grouped(q.ids),
                        pays ? "some" : "few or need none of these", rates);
  }
  run.why = order + "; " + way;
  return run;
}

}  // namespace garner
