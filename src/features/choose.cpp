#include "features/choose.hpp"

#include <algorithm>
#include <cmath>

#include "core/fail.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {
constexpr std::uint64_t gib = std::uint64_t{1} << 30, granule = 64u << 10, engine_granule = 128u << 10;
constexpr std::uint64_t most_sorted = (std::uint64_t{1} << 32) - 1;
constexpr double clearly = 0.97, worth = 1.05;  // what is won at least, what is given at most so that a row crosses once
constexpr double clearly_mixed = 0.8;           // Minimum gain if local rows are sorted too

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
    // For rows that the link itself bounds, translations do not matter.
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
// Granules of so many bytes that n rows at random touch.
double touched(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes, std::uint64_t bytes) {
  double const each = static_cast<double>(bytes), all = std::max(1.0, static_cast<double>(table_bytes) / each);
  return std::max(1.0, static_cast<double>(row_bytes) / each) * all * (1 - std::exp(-static_cast<double>(n) / all));
}
}  // namespace
double gather_figures::unsorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes) const {
  // A row longer than a granule takes several.
  double const each = std::max(1.0, static_cast<double>(row_bytes) / granule);
  return ms_of(static_cast<double>(n) * each, translations(table_bytes), static_cast<double>(n) * static_cast<double>(row_bytes),
               zero_copy_gbs);
}
double gather_figures::sorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes, std::uint64_t different) const {
  return ms_of(touched(n, row_bytes, table_bytes, granule), translations(table_bytes),
               static_cast<double>(std::min(n, different)) * static_cast<double>(row_bytes), zero_copy_gbs);
}
double gather_figures::engine_sorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes,
                                        std::uint64_t different) const {
  double const moved =
      ms_of(touched(n, row_bytes, table_bytes, engine_granule), translations(table_bytes),
            static_cast<double>(std::min(n, different)) * static_cast<double>(row_bytes), std::min(zero_copy_gbs, engine_gbs));
  return std::max(moved, static_cast<double>(n) / engine_rows / 1e6);
}
double gather_figures::sort_ms(std::uint64_t n) { return 0.03 + 45e-9 * static_cast<double>(n); }
// Three launches more than as given, and no more an id than the passes of a sort. An H200: 0.02 ms at 65,000 ids, nothing that shows at
// 300,000 (docs/benchmarks/method.md, ids that repeat).
double gather_figures::find_ms(std::uint64_t n) { return 0.02 + 45e-9 * static_cast<double>(n); }

unsigned engine_share(gather_options const& o) {
  bool const told = o.multiprocessors > 0 && (o.strategy == gather_strategy::bulk || o.multiprocessors < 8);
  return told ? o.multiprocessors : gather_figures::engine_multiprocessors;
}

gather_run choose(gather_question const& q, gather_options const& options, gather_figures const& figures) {
  gather_run run;
  run.strategy = options.strategy, run.order = options.order;
  run.rows = q.ids;
  if (run.strategy == gather_strategy::bulk && q.converted)
    fail(errc::usage, "the copy engine brings rows as they are and converts none; use aligned, or no conversion");
  bool const staged = run.strategy == gather_strategy::staged, sortable = q.ids <= most_sorted;
  if (staged && run.order != gather_order::automatic && run.order != gather_order::none)
    fail(errc::usage, "a staged gather takes ids as they come; use order none or another way than staged");
  if (staged && options.duplicates == gather_duplicates::once)
    fail(errc::usage, "a staged gather sends a row for each id; use duplicates repeat or another way than staged");

  // The model for rows in host memory, of which this many ids are requested uniformly.
  std::uint64_t const table = q.far_rows * q.row_bytes, near = q.rows - q.far_rows;
  double const share = q.far_share.value_or(q.rows ? static_cast<double>(q.far_rows) / static_cast<double>(q.rows) : 0);
  auto const far = static_cast<std::uint64_t>(static_cast<double>(q.ids) * share);
  bool const asked_once = options.duplicates == gather_duplicates::once, repeat = options.duplicates == gather_duplicates::repeat;
  // With more ids than remote rows some ids repeat, whatever the sampling.
  bool const repeats = !repeat && q.row_bytes > 0 && far > q.far_rows;
  std::uint64_t const different = repeats ? static_cast<std::uint64_t>(touched(far, q.row_bytes, table, q.row_bytes)) : far;
  double const as_given = figures.unsorted_ms(far, q.row_bytes, table), by_all = figures.sorted_ms(far, q.row_bytes, table, different),
               sort = figures.sort_ms(q.ids), bytes = static_cast<double>(far) * static_cast<double>(q.row_bytes) / 1e6;
  double const found = figures.unsorted_ms(different, q.row_bytes, table) + figures.find_ms(q.ids);
  auto const gbs = [&](double ms) { return bytes / std::max(ms, 1e-9); };
  // The copy engine waits until ids are checked, and needs another pass for local rows, at the rate of peers.
  double const by_engine = figures.engine_sorted_ms(far, q.row_bytes, table, different) + 0.02 +
                           (near ? static_cast<double>(q.ids - far) * static_cast<double>(q.row_bytes) / 300e6 + 0.01 : 0);
  bool const engine = run.strategy == gather_strategy::automatic && q.where.kind == device_kind::cuda && q.bulk_ready && !q.converted &&
                      q.row_bytes % 16 == 0 && q.far_rows > 0 && q.row_bytes > 0 && options.load_bytes == 0 && sortable;
  bool const engine_on_few = engine && options.multiprocessors > 0 && options.multiprocessors < 8 && q.row_bytes >= 1024;
  // A tenth: as much as the model may be wrong.
  bool const engine_in_order = engine && !engine_on_few &&
                               (options.multiprocessors == 0 || options.multiprocessors >= gather_figures::engine_multiprocessors) &&
                               by_engine < 0.9 * by_all;
  double const in_order = (engine_in_order ? by_engine : by_all) + sort;

  std::string strategy, order;
  if (run.order != gather_order::automatic) {
    order = fmt::format("order {} as requested", to_string(run.order));
  } else if (run.order = gather_order::none; staged) {
    order = "the host takes ids as they come";
  } else if (q.where.kind == device_kind::cpu) {
    order = "ids as they come, since nothing crosses a link";
  } else if (q.far_rows == 0) {
    order = "ids as they come, since no row lies in host memory";
  } else if (q.batched && sortable && !repeat) {
    run.order = gather_order::sorted;  // whatever the model predicts for translations: duplicates cross once
    order = fmt::format("{}: sorted, since mini-batches share rows and each far one is to cross once", rows_text(q));
  } else {
    // Local rows gain nothing by an order; scores cache the rows that repeat most on the device.
    bool const pays = sortable && in_order < (near ? clearly_mixed : clearly) * as_given,
               insures = sortable && !repeat && !near && in_order <= worth * (asked_once ? found : as_given);
    run.order = pays || insures ? gather_order::sorted : gather_order::none;
    std::string const rates = far ? fmt::format("sorted {:.0f} GB/s with the sort, unsorted {:.0f} ({})", gbs(by_all + sort), gbs(as_given),
                                                figures.measured ? "measured here" : "shipped figures")
                                  : std::string("too few to matter");
    std::string const shared = run.order == gather_order::sorted && repeats
                                   ? fmt::format("request some {} rows, each of which crosses once", grouped(different))
                                   : fmt::format("share {} translations{}", pays ? "some" : "few or need none of these",
                                                 !pays && insures ? ", but what repeats crosses once for so short a sort" : "");
    order = fmt::format("{}: {} sorted ids {}; {}", rows_text(q), grouped(q.ids), shared, rates);
  }
  // Ids in another order than sorted: what repeats is looked for where rows cross a link, and where an order was named whatever it takes;
  // but not where the rows that have come lie across the link again.
  bool const crosses = q.where.kind != device_kind::cpu && q.far_rows > 0 && q.row_bytes > 0;
  if (run.duplicates = options.duplicates; staged) {
    run.duplicates = gather_duplicates::repeat;
  } else if (run.duplicates == gather_duplicates::automatic) {
    bool const looks =
        crosses && sortable && !q.far_places && (options.order != gather_order::automatic || (!near && found <= worth * as_given));
    run.duplicates = run.order == gather_order::sorted || looks ? gather_duplicates::once : gather_duplicates::repeat;
  }
  bool const host = q.where.kind == device_kind::cpu;
  if (run.order != gather_order::sorted && run.duplicates == gather_duplicates::once && (crosses || host))
    order +=
        fmt::format("; ids that repeat are found by a hash table, {}", host           ? "so that each row is read once"
                                                                       : q.far_places ? "and copied from places that are host memory too"
                                                                                      : "so that their remote rows cross once");
  else if (run.duplicates == gather_duplicates::repeat && crosses && !staged) order += "; an id that repeats is fetched again";

  if (run.strategy != gather_strategy::automatic) {
    strategy = fmt::format("{} as requested", to_string(run.strategy));
  } else if (engine_on_few) {
    run.strategy = gather_strategy::bulk;
    strategy = fmt::format("with {} multiprocessors the copy engine carries rows of 1 KiB and more best", options.multiprocessors);
  } else if (engine_in_order && run.order == gather_order::sorted) {
    run.strategy = gather_strategy::bulk;
    strategy = fmt::format("the copy engine of {} multiprocessors has fewer rows on their way, which in order share more: {:.0f} GB/s",
                           engine_share(options), gbs(in_order));
  } else {
    run.strategy = gather_strategy::aligned;
    strategy = q.where.kind == device_kind::cpu ? "at the host a row is one copy, whatever the way"
                                                : "rows are read from a line on, in the widest loads that fit";
  }
  run.why = order + "; " + strategy;
  return run;
}

}  // namespace garner
