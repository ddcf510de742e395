// garner-lab gather: feature rows, with every strategy and order.
#include <memory>

#include "bench.hpp"
#include "core/device.hpp"
#include "features/choose.hpp"
#include "lab/gather.hpp"
#include "memory/budget.hpp"
#include "memory/link.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

using cli::grouped;

struct gather_arguments : bench_arguments {
  gather_bench_options o;
  std::string table;
  bool explain = false;
};

void say_row(gather_row const& r) {
  std::string const head = fmt::format("{:<10} {:<44} {:>9} ids", r.figure, r.label, grouped(r.ids * r.batches));
  if (!r.skipped.empty()) cli::say("{}  not measured: {}\n", head, cli::with_flags(r.skipped));
  else if (!r.ms) cli::say("{}  {} requests\n", head, grouped(r.requests));
  else
    cli::say("{} {:>10.3f} ms {:>7.2f} GB/s {:>6}  {}, {}\n", head, *r.ms, *r.gbs,
             r.of_link ? fmt::format("{:.0f} %", 100 * *r.of_link) : "-", r.strategy, r.order);
  if (auto const& b = r.beside)
    cli::say(
        "{:<10} {}; alone {:.2f} GB/s; arithmetic {:.1f} % slower than on the whole device, {:.1f} % than alone on {} multiprocessors\n",
        "", r.why, b->gather_alone_gbs, 100 * b->slower(), 100 * b->slower_than_alone(), b->rest);
  cli::flush_out();
}

void measure(gather_arguments& a) {
  gather_bench_options& o = a.o;
  if (a.out.empty()) fail(errc::usage, "--out is required; see garner-lab gather --help");
  o.where = a.where();
  std::uint64_t const room = host_memory_now().free() / 2;
  o.table_bytes = !a.table.empty()                    ? parse_bytes(a.table)
                  : o.where.kind == device_kind::cuda ? std::min<std::uint64_t>(32ull << 30, room)
                                                      : std::min<std::uint64_t>(256ull << 20, room);
  o.seed = a.seed;
  if (!a.figures.empty()) o.figures = a.figures;
  o.command = cli::command_line();
  a.begin(o.where);
  tell("device {}, a table of {} in host memory, medians of {}; each way's rows compared first; percent of {}\n", to_string(o.where),
       format_bytes(o.table_bytes), o.trials,
       o.where.kind == device_kind::cuda ? "what the link carries" : "one memcpy per row, where measured");
  a.write(to_json(measure_gathers(o, say_row)));
}

// What way automatic and order automatic would be for such gathers, and why; nothing is measured or taken.
void explain_gathers(gather_arguments const& a) {
  execution_device const where = a.place.empty() ? execution_device{device_kind::cuda, 0} : parse_device(a.place);
  auto const link = where.kind == device_kind::cuda && where.index < device::count() ? known_link(where.index) : std::nullopt;
  gather_figures const figures = link ? gather_figures::of(*link) : gather_figures::shipped();
  std::uint64_t const table = a.table.empty() ? std::uint64_t{32} << 30 : parse_bytes(a.table);
  if (table < 4096) fail(errc::usage, "--table-bytes {}: use 4 KiB or more", a.table);
  cli::say("device {}, a table of {} in host memory, random ids, by {}\n", to_string(where), format_bytes(table),
           figures.measured ? "this machine's link" : "the shipped figures (an H200 over PCIe 5)");
  static constexpr std::uint64_t rows[] = {128, 512, 1024, 2048, 4096}, windows[] = {1, 8};
  for (std::uint64_t const row : rows)
    for (std::uint64_t const ids : a.o.ids)
      for (std::uint64_t const batches : windows) {
        gather_question const q{where, ids * batches, row, table / row, table / row, true, batches > 1, false};
        gather_run const run = choose(q, {}, figures);
        cli::say("{:>5} B {:>10} ids{:<13} {}, {}, duplicates {}: {}\n", row, grouped(ids * batches),
                 batches > 1 ? fmt::format(" in {} batches", batches) : "", to_string(run.strategy), to_string(run.order),
                 to_string(run.duplicates), run.why);
      }
}

}  // namespace

void add_gather(cli::program& p) {
  auto const a = std::make_shared<gather_arguments>();
  cli::verb& v = p.add("gather", "feature rows, with every strategy and order");
  a->add(v, "unaligned,sizes,orders,dense,duplicates,convert,share,near,beside,copies").is_required = false;  // --explain
  v.add("--table-bytes", a->table);
  v.add("--ids", a->o.ids);
  v.add("--trials", a->o.trials, "runs of each setting");
  v.add("--explain", a->explain);
  v.ends_with("Example: garner-lab gather --table-bytes 32GiB --out gather.json");
  v.runs([a] { a->explain ? explain_gathers(*a) : measure(*a); });
}

}  // namespace garner::lab
