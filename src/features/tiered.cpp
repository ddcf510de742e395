// unified_tensor: a host array that kernels read in place. tiered_tensor: a table in memory tiers, with its gathers.
// Invariant: calls submit work to the executor one at a time, in the order of the calls. Gathers share sorting buffers,
// so each waits on the device for the event of the one before, on every stream. Comparing streams would not do: a new
// stream may have the address of a destroyed one, whose work may still run. A failed call leaves the tensor as it was.
#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>

#include "core/call_chain.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "far/bulk.hpp"
#include "far/traffic.hpp"
#include "features/ask.hpp"
#include "features/choose.hpp"
#include "features/file_cache.hpp"
#include "features/gather.hpp"
#include "features/placement.hpp"
#include "features/sources.hpp"
#include "features/stored_rows.hpp"
#include "features/window.hpp"
#include "memory/pin.hpp"

namespace garner {

namespace {
constexpr std::uint64_t none = ~std::uint64_t{0}, chunk_bytes = 64u << 20;
constexpr char const* rows_put = "rows that are put into a table";

std::uint64_t table_bytes(row_array const& rows) {
  std::uint64_t elements = 0, bytes = 0;
  if (__builtin_mul_overflow(rows.rows, rows.width, &elements) || __builtin_mul_overflow(elements, bytes_of(rows.kind), &bytes) ||
      bytes > none >> 8)
    fail(errc::usage, "a table of {} rows of {} elements is more than a machine addresses", rows.rows, rows.width);
  if (bytes && !rows.data && !rows.file) fail(errc::usage, "a table of {} rows has no data", rows.rows);
  return bytes;
}
}  // namespace

// --- unified -----------------------------------------------------------------------------------------------------------------------------
struct unified_tensor::mapping {
  row_array rows;
  int device;
  pinned_pages pages;
  mapping(row_array r, int d) : rows(std::move(r)), device(d) {
    std::uint64_t const bytes = table_bytes(rows);
    if (rows.file)
      fail(errc::usage, "a table that stays in {} cannot be pinned; read it with read_rows, or make a tiered tensor of it",
           rows.file->name());
    if (bytes == 0) fail(errc::usage, "an empty array cannot be pinned; a unified tensor holds at least one element");
    if (device >= 0) pages = pinned_pages(rows.data, bytes, device);
  }
  mapping(mapping const&) = delete;
  mapping& operator=(mapping const&) = delete;
};
unified_tensor::unified_tensor(row_array rows, int device)
    : mapping_(as_error([&] { return std::make_shared<mapping const>(std::move(rows), device); })) {}
row_array const& unified_tensor::rows() const { return detail::there(mapping_).rows; }
void const* unified_tensor::device_data() const {
  mapping const& m = detail::there(mapping_);
  return m.pages ? m.pages.device_data() : m.rows.data;
}
int unified_tensor::device() const { return detail::there(mapping_).device; }

// --- tiered ------------------------------------------------------------------------------------------------------------------------------
struct tiered_tensor::parts {
  std::mutex turn;
  row_array source;
  std::uint64_t row_bytes = 0;
  traffic_model model{access_mode::aligned};
  executor x;
  row_sender sender{x, source};
  std::optional<row_placement> placed;
  std::unique_ptr<file_cache> own_cache;  // made by the first gather that needs it
  buffer<float> scales, call_scales;
  std::vector<float> host_scales;  // for staged gathers
  gather_figures figures = gather_figures::shipped();
  id_sorter room;
  buffer<std::uint64_t> bad, bad_here, counts;  // bad: first position with an invalid id, number of repeats to copy
  event checked;
  call_chain calls;
  bool has_bulk = false, of_group = false;
  // All tensors of the table: a put reaches them all. Their places in `all` and copies of what they keep are made under `changing`.
  struct twins {
    std::mutex changing;
    std::vector<parts*> all;
    std::atomic<std::uint64_t> puts{0};
  };
  std::shared_ptr<twins> kin;

  parts(row_array rows, tiered_options const& o)
      : source(std::move(rows)), x(o.device, &model), of_group(!o.group.empty()), kin(std::make_shared<twins>()) {
    table_bytes(source);
    row_bytes = source.row_bytes();
    if (row_bytes >> 31) fail(errc::usage, "rows of {} bytes; a row has less than 2 GiB", row_bytes);
    if (!o.scores.empty() && o.scores.size() != source.rows)
      fail(errc::usage, "{} scores for a table of {} rows; give one a row", o.scores.size(), source.rows);
    require_numbers(o.scores);
    require_scales(o.scales, source.rows, source.kind);
    make_ready();
    if (!o.scales.empty()) {
      scales = {x.near(), o.scales.size(), x.device(), "factors of the rows"};
      x.copy(scales.data(), o.scales.data(), o.scales.size_bytes());
      x.wait();
      if (x.asynchronous()) host_scales.assign(o.scales.begin(), o.scales.end());
    }
    placed.emplace(x, source, sender, o);
    kin->all.push_back(this);
  }
  parts(parts const& first, execution_device where)
      : source(first.source),
        row_bytes(first.row_bytes),
        x(where, &model),
        host_scales(first.host_scales),
        of_group(first.of_group),
        kin(first.kin) {
    make_ready();
    std::lock_guard const hold(kin->changing);
    placed.emplace(x, source, sender, *first.placed);
    if (!first.scales.empty()) {
      scales = {x.near(), first.scales.size(), x.device(), "factors of the rows"};
      x.copy(scales.data(), first.scales.data(), scales.bytes());
      x.wait();
    }
    kin->all.push_back(this);
  }
  void make_ready() {
    bad = {x.near(), 2, x.device(), "the status of gathers"};
    counts = {x.near(), tier_count, x.device(), "hits of a gather"};
    if (x.asynchronous()) {
      bad_here = {tier::host, 2, x.device(), "the status of gathers"};
      has_bulk = has_bulk_copies(x.device());
      if (x.on_device())
        if (auto const link = known_link(x.device())) figures = gather_figures::of(*link);
    }
  }
  ~parts() {
    {
      std::lock_guard const hold(kin->changing);
      std::erase(kin->all, this);
    }
    calls.end();
  }

  static void require_scales(std::span<float const> scales, std::uint64_t rows, element kind) {
    if (scales.empty()) return;
    if (kind != element::i8) fail(errc::usage, "factors of rows are for i8 rows; these are {}", to_string(kind));
    if (scales.size() != rows) fail(errc::usage, "{} factors for a table of {} rows; give one a row", scales.size(), rows);
  }

  // --- gathers ---
  row_view const& view() const { return placed->view(); }
  element written(gather_options const& o) const {
    element const to = o.to.value_or(source.kind);
    if (!converts(source.kind, to))
      fail(errc::usage,
           "rows of {} cannot be written as {}; f16, bf16 and i8 become f32 or bf16, others are converted before they are a table",
           source.type.empty() ? std::string(to_string(source.kind)) : source.type + ", held as raw bytes,", to_string(to));
    return to;
  }
  gather_run explain(std::uint64_t n, gather_options const& o, bool batched, std::span<row_output const> outs = {}) const {
    element const to = written(o);
    if (source.file && (o.strategy == gather_strategy::staged || o.strategy == gather_strategy::bulk))
      fail(errc::usage, "strategy {} reads an array, and these rows are in {}; use automatic, naive, shifted or aligned",
           to_string(o.strategy), source.file->name());
    auto const on_16 = [](void const* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
    bool const engine = has_bulk && !source.file && on_16(view().far) &&
                        std::all_of(outs.begin(), outs.end(), [&](row_output const& o) { return on_16(o.data()); });
    bool const far_places = x.on_device() && std::any_of(outs.begin(), outs.end(),
                                                         [](row_output const& o) { return o.data() && device::pinned_from(o.data()) > 0; });
    gather_question q{x.where(), n, row_bytes, source.rows, view().rows_in(tier::host), engine, batched, to != source.kind, far_places};
    q.far_share = placed->far_share();
    gather_run run = choose(q, o, figures);
    run.row_bytes = source.width * bytes_of(to);
    return run;
  }
  [[noreturn]] void refuse(batch_list const& batches, std::uint64_t position, std::uint64_t before, bool many) {
    refuse_id(x, batches, position, source.rows, many ? std::optional(before) : std::nullopt);
  }

  // Gathers with host threads. All ids are checked before the first row is sent.
  void staged_gather(batch_list const& batches, std::uint64_t before, bool many, gather_how const& how, gather_options const& o) {
    id_order const order = check_ids(x, batches, source.rows, bad.data());
    if (std::uint64_t const first = x.read(bad.data()); first != none) refuse(batches, first, before, many);
    float const* const by_host = !o.scales.empty() ? o.scales.data() : x.asynchronous() ? host_scales.data() : scales.data();
    staged_source(sender, by_host)->bring(x, {view(), batches, order, how});
  }

  void some_batches(batch_list const& batches, std::uint64_t before, bool many, gather_run const& run, gather_how how,
                    gather_options const& o) {
    std::uint64_t const n = batches.total();
    if (n == 0) return;
    x.fill(bad.data(), 0xff, sizeof(std::uint64_t));
    if (run.strategy == gather_strategy::staged) return staged_gather(batches, before, many, how, o);
    id_order order;
    bool const bulk = run.strategy == gather_strategy::bulk && row_bytes > 0 && source.rows > view().kept();
    bool const once = run.duplicates == gather_duplicates::once, finds = once && run.order != gather_order::sorted;
    bool const split = bulk && (view().kept() > 0 || finds);  // separates the rows that the copy engine skips
    if (run.order == gather_order::none && !finds && batches.count == 1 && !bulk && row_bytes > 0 && x.where().kind == device_kind::cpu) {
      // One pass checks ids and gathers, with one barrier. On a busy thread pool a second pass can cost more than gathering short rows.
      if (how.strategy == gather_strategy::bulk) how.strategy = gather_strategy::aligned;
      gather_rows(x, view(), batches, as_given(batches), how, bad.data());
      if (bad[0] != none) refuse(batches, bad[0], before, many);
      return;
    }
    if (run.order != gather_order::none || batches.count > 1 || split || finds) {
      if (finds) x.fill(bad.data() + 1, 0, sizeof(std::uint64_t));
      if (n > 0xffffffffu) fail(errc::usage, "{} ids cannot be brought into order; at most 2^32 - 1 a gather, or order none", n);
      order = order_ids(x, batches, view(), source.width * bytes_of(how.to), run.order, split, once, room, bad.data());
    } else {
      order = check_ids(x, batches, source.rows, bad.data());
    }
    if (!x.asynchronous()) {
      if (bad[0] != none) refuse(batches, bad[0], before, many);
      model.take();  // reads of ids do not count: ids are on the device
    } else {
      x.copy(bad_here.data(), bad.data(), (finds ? 2 : 1) * sizeof(std::uint64_t));
      checked.record(x);
    }
    auto const refuse_bad = [&] {
      checked.wait();
      if (bad_here[0] == none) return;
      x.wait();
      refuse(batches, bad_here[0], before, many);
    };
    if (bulk) {  // the copy engine cannot check ids
      if (x.asynchronous()) refuse_bad();
      bulk_source(engine_share(o))->bring(x, {view(), batches, order, how});
    } else {
      direct_source()->bring(x, {view(), batches, order, how});
      if (x.asynchronous()) refuse_bad();  // waits for the check while the rows arrive
    }
    // A repeated row crosses the link once and is then copied. The number of repeats arrived together with the status.
    if (finds) copy_repeats(x, batches, order, x.asynchronous() ? bad_here[1] : bad[1], source.width * bytes_of(how.to));
  }

  gather_run gather(std::span<id_span const> batches, std::span<row_output const> outs, bool many, gather_options const& o) {
    std::lock_guard const hold(turn);
    if (batches.size() != outs.size())
      fail(errc::usage, "{} batches of ids and {} outputs; pass one output per batch", batches.size(), outs.size());
    if (o.load_bytes > 16 || (o.load_bytes & (o.load_bytes - 1)) != 0)
      fail(errc::usage, "loads of {} bytes; use 1, 2, 4, 8 or 16", o.load_bytes);
    element const to = written(o);
    require_scales(o.scales, source.rows, source.kind);
    if (source.file && !o.scales.empty())
      fail(errc::usage, "factors of a gather's own for rows that stay in {}; give them to the tensor", source.file->name());
    std::uint64_t n = 0;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      require_ids(batches[b]);
      std::uint64_t const count = batches[b].size(), wanted = count * source.width * bytes_of(to);
      n += count;
      if (count && source.width && !outs[b].data()) fail(errc::usage, "{} ids and no output for their rows; pass one", count);
      if (outs[b].bytes() < wanted)
        fail(errc::usage, "{} rows take {} bytes, and the output has {}; pass a larger one", count, wanted, outs[b].bytes());
      if (count) require_readable(x, batches[b].data(), "ids");
      if (count && row_bytes) require_readable(x, outs[b].data(), "outputs");
      if (to != source.kind && reinterpret_cast<std::uintptr_t>(outs[b].data()) % bytes_of(to) != 0)
        fail(errc::usage, "the output of {} rows is not aligned to {} bytes", to_string(to), bytes_of(to));
    }
    if (to != source.kind && reinterpret_cast<std::uintptr_t>(source.data) % bytes_of(source.kind) != 0)
      fail(errc::usage, "a table of {} that is not aligned to {} bytes", to_string(source.kind), bytes_of(source.kind));
    gather_run run = explain(n, o, batches.size() > 1, outs);
    if (n == 0) return run;
    placed->require_peers();
    calls.run(x, o.stream, [&] { gather_all(batches, outs, many, run, to, o); });
    if (x.asynchronous() && !o.stream) placed->require_peers();  // peers may have ended while their rows were read
    return run;
  }
  void gather_all(std::span<id_span const> batches, std::span<row_output const> outs, bool many, gather_run& run, element to,
                  gather_options const& o) {
    limited_share const share(x, x.asynchronous() ? o.multiprocessors : 0, x.asynchronous() && o.multiprocessors ? 1024 : 0);
    gather_how how{run.strategy, source.kind, to, nullptr, o.load_bytes};
    if (to != source.kind && source.kind == element::i8) {
      how.scales = scales.data();
      if (!o.scales.empty() && !x.asynchronous()) how.scales = o.scales.data();
      if (!o.scales.empty() && x.asynchronous()) {
        grow(x, call_scales, o.scales.size(), o.scales.size(), "factors of the rows", x.near());
        x.copy(call_scales.data(), o.scales.data(), o.scales.size_bytes());
        how.scales = call_scales.data();
      }
    }
    model.take();
    for (std::size_t b = 0; b < batches.size();) {
      batch_list some;
      std::size_t const before = b;
      for (; b < batches.size() && some.count < batch_list::most; ++b) some.add(batches[b], outs[b].data());
      some_batches(some, before, many, run, how, o);
      if (view().rows_in(tier::file)) file_rows_of(some, how, run);
      run.link += model.take();
    }
  }

  // Gathers rows from the file in chunks of half the cache: the next chunk is read while one is gathered. All ids have been checked.
  void file_rows_of(batch_list const& batches, gather_how const& how, gather_run& run) {
    if (!own_cache) {
      file_cache::terms t;
      t.host_bytes = placed->file_cache_bytes(), t.factors = host_factors();
      own_cache = std::make_unique<file_cache>(x.where(), source.file, view(), t);
    }
    constexpr std::uint64_t ahead = 3;
    std::uint64_t const most = std::max<std::uint64_t>(1, own_cache->slots() / 2), out_row = source.width * bytes_of(how.to);
    std::deque<char*> entered;
    file_rows::figures told;
    auto const one = [&] {
      own_cache->gather(
          x, entered.front(), how, [] { return check_interrupted(), false; }, told);
      entered.pop_front();
    };
    try {
      for (std::uint32_t b = 0; b < batches.count; ++b) {
        std::uint64_t const n = batches.start[b + 1] - batches.start[b];
        for (std::uint64_t k = 0; k < n; k += most) {
          std::uint32_t const each = batches.id_bytes[b];
          own_cache->enter(x, {static_cast<char const*>(batches.ids[b]) + k * each, std::min(most, n - k), each});
          entered.push_back(batches.outs[b] + k * out_row);
          if (entered.size() > ahead) one();
        }
      }
      while (!entered.empty()) one();
    } catch (...) {
      own_cache->reset();
      throw;
    }
    run.file_rows += told.rows, run.file_reads += told.reads;
  }
  std::span<float const> host_factors() const {
    if (!host_scales.empty()) return host_scales;
    return x.on_device() ? std::span<float const>() : std::span<float const>(scales.data(), scales.size());
  }

  // --- changes ---
  // What a put sends to one of the tensors.
  struct sent_rows {
    parts& to;
    buffer<std::uint64_t> ids;
    buffer<std::uint32_t> positions;
    memory_block rows;
    wait_at_end settled{to.x};
    sent_rows(parts& p, std::uint64_t n, std::uint64_t bytes)
        : to(p),
          ids(p.x.near(), n, p.x.device(), rows_put),
          positions(p.x.near(), n, p.x.device(), rows_put),
          rows(p.x.near(), bytes, p.x.device(), rows_put) {}
    void write(id_order const& order, std::uint64_t n, void const* from) {
      to.x.copy(ids.data(), order.keys, n * sizeof(std::uint64_t));
      to.x.copy(positions.data(), order.positions, n * sizeof(std::uint32_t));
      to.x.copy(rows.data(), from, n * to.row_bytes);
      id_order there;
      there.keys = ids.data(), there.positions = positions.data();
      row_view kept = to.view();
      kept.in_file = true;  // the array, which the host has written
      write_rows(to.x, kept, there, n, rows.data());
    }
  };
  // In chunks: the host writes the array, then each tensor its copies. Ids are checked and memory is taken before.
  void put(id_span ids, std::span<std::byte const> rows) {
    require_ids(ids);
    std::uint64_t const n = ids.size(), each = std::min(n, std::max<std::uint64_t>(1, chunk_bytes / (row_bytes + 16)));  // 16: of an id
    if (source.file)
      fail(errc::usage, "rows that stay in {} are not put into a table of it; use put_rows, and open it again", source.file->name());
    if (of_group) fail(errc::usage, "a table of a group of processes cannot be put into, since each has copies of its rows; make it again");
    if (!source.writable)
      fail(errc::usage,
           "rows cannot be put: the table is of memory that is only read (a mapped file, a shared table, a read-only array); "
           "make it of a copy");
    if (rows.size() != n * row_bytes) fail(errc::usage, "{} bytes of rows for {} ids; pass {} bytes per id", rows.size(), n, row_bytes);
    if (n == 0) return;
    std::vector<std::byte> apart;  // rows of the table's own array, which the put writes
    if (auto const* const own = static_cast<std::byte const*>(source.data);
        std::less<>{}(rows.data(), own + source.rows * row_bytes) && std::less<>{}(own, rows.data() + rows.size()))
      apart.assign(rows.begin(), rows.end()), rows = apart;
    std::lock_guard const changing(kin->changing);
    std::vector<std::unique_lock<std::mutex>> turns;
    for (parts* p : kin->all) turns.emplace_back(p->turn), p->calls.settle(p->x);

    executor here(execution_device{device_kind::cpu, 0});
    memory_block near_ids, near_rows;
    auto const at_host = [&](memory_block& copied, void const* from, std::uint64_t bytes) {
      if (!x.on_device()) return static_cast<char const*>(from);
      if (copied.bytes() < bytes) copied = memory_block(tier::host, bytes, x.device(), rows_put);
      x.copy(copied.data(), from, bytes);
      x.wait();
      return static_cast<char const*>(copied.data());
    };
    char const* const all = at_host(near_ids, ids.data(), n * ids.id_bytes());
    batch_list batch;
    batch.add({all, n, ids.id_bytes(), ids.is_unsigned()}, nullptr);
    std::uint64_t first_bad = none;
    check_ids(here, batch, source.rows, &first_bad);
    if (first_bad != none) refuse_id(here, batch, first_bad, source.rows, {});
    row_view array;
    array.rows = source.rows, array.row_bytes = row_bytes, array.far = static_cast<char const*>(source.data);
    id_sorter sorter;
    std::deque<sent_rows> sent;
    for (parts* p : kin->all)
      if (p->view().kept()) sent.emplace_back(*p, each, each * row_bytes);
    interrupts_held const whole;
    struct counted {
      twins& of;
      ~counted() { ++of.puts; }
    } const told{*kin};  // also where a device fails: windows forget what they hold
    for (std::uint64_t k = 0; k < n; k += each) {
      std::uint64_t const some = std::min(each, n - k);
      batch_list chunk;
      chunk.add({all + k * ids.id_bytes(), some, ids.id_bytes()}, nullptr);
      id_order const order = order_ids(here, chunk, array, row_bytes, gather_order::sorted, false, false, sorter, &first_bad);
      char const* const from = at_host(near_rows, rows.data() + k * row_bytes, some * row_bytes);
      write_rows(here, array, order, some, from);
      for (sent_rows& s : sent) s.write(order, some, from);
      for (sent_rows& s : sent) s.to.x.wait();
    }
  }

  rows_by_tier hits(id_span ids) {
    std::lock_guard const hold(turn);
    require_ids(ids);
    if (ids.size() == 0) return {};
    require_readable(x, ids.data(), "ids");
    calls.settle(x);
    batch_list one;
    one.add(ids, nullptr);
    x.fill(bad.data(), 0xff, sizeof(std::uint64_t));
    x.fill(counts.data(), 0, counts.bytes());
    check_ids(x, one, source.rows, bad.data());
    count_hits(x, view(), one, counts.data());
    if (std::uint64_t const first = x.read(bad.data()); first != none) refuse(one, first, 0, false);
    rows_by_tier rows;
    std::array<std::uint64_t, tier_count> found;
    x.copy(found.data(), counts.data(), sizeof found);
    x.wait();
    for (std::size_t k = 0; k < tier_count; ++k) rows[static_cast<tier>(k)] = found[k];
    return rows;
  }
};

tiered_tensor::tiered_tensor(row_array rows, tiered_options const& options)
    : parts_(as_error([&] { return std::make_unique<parts>(std::move(rows), options); })) {}
tiered_tensor::tiered_tensor(std::unique_ptr<parts> made) : parts_(std::move(made)) {}
tiered_tensor tiered_tensor::for_device(execution_device where) const {
  return as_error([&] { return tiered_tensor(std::make_unique<parts>(*parts_, where)); });
}
tiered_tensor::~tiered_tensor() = default;
tiered_tensor::tiered_tensor(tiered_tensor&&) noexcept = default;
tiered_tensor& tiered_tensor::operator=(tiered_tensor&&) noexcept = default;

std::uint64_t tiered_tensor::rows() const { return parts_->source.rows; }
std::uint64_t tiered_tensor::width() const { return parts_->source.width; }
std::uint64_t tiered_tensor::row_bytes() const { return parts_->row_bytes; }
element tiered_tensor::kind() const { return parts_->source.kind; }
execution_device tiered_tensor::device() const { return parts_->x.where(); }
rows_by_tier tiered_tensor::tiers() const {
  rows_by_tier rows;
  for (tier const t : {tier::device, tier::peer, tier::host, tier::file}) rows[t] = parts_->view().rows_in(t);
  return rows;
}
std::uint64_t rows_by_tier::all() const { return std::accumulate(rows_.begin(), rows_.end(), std::uint64_t{0}); }
std::string tiered_tensor::about() const {
  return as_error([&] { return parts_->placed->about(); });
}

gather_run tiered_tensor::gather(id_span ids, row_output out, gather_options const& options) {
  return as_error([&] { return parts_->gather({&ids, 1}, {&out, 1}, false, options); });
}
gather_run tiered_tensor::gather_many(std::span<id_span const> batches, std::span<row_output const> outs, gather_options const& options) {
  return as_error([&] { return parts_->gather(batches, outs, true, options); });
}
gather_run tiered_tensor::explain(std::uint64_t ids, gather_options const& options, std::uint64_t batches) const {
  return as_error([&] { return parts_->explain(ids, options, batches > 1); });
}
rows_by_tier tiered_tensor::hits(id_span ids) const {
  return as_error([&] { return parts_->hits(ids); });
}

void tiered_tensor::put(id_span ids, std::span<std::byte const> rows) {
  as_error([&] { parts_->put(ids, rows); });
}

row_view const& tensor_access::view(tiered_tensor const& t) { return t.parts_->view(); }
float const* tensor_access::scales(tiered_tensor const& t) { return t.parts_->scales.data(); }
std::uint64_t tensor_access::puts(tiered_tensor const& t) { return t.parts_->kin->puts; }
void tensor_access::require_peers(tiered_tensor const& t) { t.parts_->placed->require_peers(); }
std::shared_ptr<stored_rows const> tensor_access::file(tiered_tensor const& t) { return t.parts_->source.file; }
std::uint64_t tensor_access::file_cache_bytes(tiered_tensor const& t) { return t.parts_->placed->file_cache_bytes(); }
std::span<float const> tensor_access::file_scores(tiered_tensor const& t) { return t.parts_->placed->file_scores(); }
std::span<float const> tensor_access::host_factors(tiered_tensor const& t) { return t.parts_->host_factors(); }
element tensor_access::written(tiered_tensor const& t, std::optional<element> to) {
  gather_options o;
  o.to = to;
  return t.parts_->written(o);
}

}  // namespace garner
