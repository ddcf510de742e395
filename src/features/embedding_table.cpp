// Implements embedding of the API: owns the records, and orders submitted work.
// Invariant: ranks [0, near) of records are on the device, the others in host memory, in the order of their ranks; without scores the id
// is the rank. One call at a time; each runs after the event behind the last one, whatever its stream. A rejected step has changed
// nothing. A table in a file: `records` are the slots of its cache in host memory: ids are translated on the host, to slots.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "core/call_chain.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/words.hpp"
#include "far/traffic.hpp"
#include "features/ask.hpp"
#include "features/embedding.hpp"
#include "features/place_rows.hpp"
#include "features/trained_file.hpp"
#include "files/checkpoint.hpp"
#include "garner/embedding.hpp"
#include "garner/memory.hpp"
#include "memory/budget.hpp"

namespace garner {

constexpr word_table<row_optimizer> row_optimizers{"unknown optimizer of rows '{text}': use {a_or_b}", {"sgd", "adagrad", "adam"}};
std::string_view to_string(row_optimizer value) { return row_optimizers[value]; }
row_optimizer parse_row_optimizer(std::string_view text) { return row_optimizers.parse(text); }

constexpr word_table<initializer> initializers{"unknown first values '{text}': use {a_or_b}", {"normal", "uniform", "zero"}};
std::string_view to_string(initializer value) { return initializers[value]; }
initializer parse_initializer(std::string_view text) { return initializers.parse(text); }

namespace {
constexpr std::uint64_t none = ~std::uint64_t{0};
constexpr std::uint64_t rows_at_once = 1u << 18;  // of a loop over all, so that Ctrl-C is handled

std::vector<std::string> names_of(row_optimizer how) {
  if (how == row_optimizer::sgd) return {};
  if (how == row_optimizer::adagrad) return {"sum"};
  return {"exp_avg", "exp_avg_sq"};
}
}  // namespace

struct embedding::impl {
  std::mutex mutable turn;
  embedding_options o;
  traffic_model mutable model{access_mode::aligned};
  executor mutable x;
  std::uint64_t rows;   // of the table
  record_view records;  // all of them, or the slots of a cache
  memory_block near, far, ranks;
  std::string why;
  id_sorter room;
  buffer<std::uint64_t> bad, bad_here;  // of gathers
  buffer<step_findings> found, found_here;
  buffer<float> mutable moved;
  event checked;
  call_chain mutable calls;
  std::uint64_t steps = 0;
  // For a table in a file:
  std::unique_ptr<trained_file> file;
  std::unique_ptr<record_cache> cache;
  buffer<std::uint64_t> slots;
  memory_block mutable some;  // records on their way between the file and whole arrays

  impl(std::uint64_t count, std::uint64_t width, embedding_options const& options) : o(options), x(o.device, &model), rows(count) {
    std::uint64_t floats = 0;
    if (rows == 0 || width == 0) fail(errc::usage, "{} rows of {} elements; an embedding has at least one of each", rows, width);
    if (width >> 20) fail(errc::usage, "rows of {} elements; an embedding has at most 2^20", width);
    if (o.kind != element::f32 && o.kind != element::f16 && o.kind != element::bf16)
      fail(errc::usage, "rows of {} are not learned; use f32, f16 or bf16", to_string(o.kind));
    std::uint64_t const record = record_view::record_bytes(width, o.optimizer, o.kind);
    if (__builtin_mul_overflow(rows, record, &floats) || floats > none >> 8)
      fail(errc::usage, "a table of {} rows of {} bytes is more than a machine addresses", rows, record);
    if (!o.scores.empty() && o.scores.size() != rows)
      fail(errc::usage, "{} scores for a table of {} rows; give one a row", o.scores.size(), rows);
    if (!(o.init_scale >= 0 && o.init_scale < 1e30)) fail(errc::usage, "a spread of {}: use 0 or more", o.init_scale);
    require_numbers(o.scores);
    bad = {x.near(), 1, x.device(), "the status of gathers"};
    found = {x.near(), 1, x.device(), "the status of steps"};
    if (x.asynchronous()) {
      bad_here = {tier::host, 1, x.device(), "the status of gathers"};
      found_here = {tier::host, 1, x.device(), "the status of steps"};
    }
    if (x.on_device()) self_test(x.device());

    records.width = width, records.part = record_view::part_of(width, o.kind), records.optimizer = o.optimizer, records.kind = o.kind;
    row_view& v = records.rows;
    v.rows = rows, v.stride = record, v.row_bytes = width * bytes_of(o.kind);
    if (!o.file.empty()) {
      open_file();
      return;
    }
    row_budget b{rows, record, o.feature_cache, {}, 0, 0, 0};
    if (x.on_device()) b.free_here = left_on_device(x.device());
    row_shares const shares = share_rows(b);
    std::uint64_t const kept = o.device.kind == device_kind::cpu ? 0 : shares.near;
    why = x.on_device() ? shares.why : "";
    near = memory_block(x.near(), kept * record, x.device(), "rows that are learned, on the device");
    far = memory_block(tier::host, (rows - kept) * record, x.device(), "rows that are learned, in host memory");
    char const *const near_at = static_cast<char const*>(near.data()), *const far_at = static_cast<char const*>(far.data());
    v.add(tier::device, kept, 1, &near_at);
    v.add(tier::host, rows - kept, 1, &far_at);
    if (!o.scores.empty() && kept > 0 && kept < rows) rank_all(kept);
    o.scores = {};
    progress told("drawing rows", rows);
    each_part(0, rows, rows_at_once, [&](std::uint64_t first, std::uint64_t n) {
      check_interrupted();
      draw_records(x, records, first, n, first, o);
      x.wait();
      told.advance(n);
    });
  }
  ~impl() {
    calls.end();
    interrupts_held const whole;
    try {
      if (file) flush();
    } catch (...) {  // the file holds the state of the last flush
    }
  }
  impl(impl const&) = delete;

  void open_file() {
    if (o.feature_cache || !o.scores.empty())
      fail(errc::usage, "a table in a file keeps rows in host memory; use host_cache, without feature_cache and scores");
    std::uint64_t const record = records.rows.stride, free = std::min(host_memory_now().free(), host_budget().left()),
                        wanted = o.host_cache.value_or(free / 2) / record;
    if (wanted == 0)
      fail(errc::usage, "a host cache of {} bytes for rows of {} with their state; use more", o.host_cache.value_or(free / 2), record);
    std::uint64_t const kept = std::min(wanted, rows);
    trained_file::shape const is{rows, records.width, record, o.kind, o.optimizer};
    if (std::error_code none; !std::filesystem::exists(o.file, none))
      trained_file::create(o.file, is, [&](std::uint64_t first, std::uint64_t n, char* to) {
        record_view const v = staged(n);
        draw_records(x, v, 0, n, first, o);
        x.wait();
        std::memcpy(to, some.data(), n * record);
      });
    some.reset();
    file = std::make_unique<trained_file>(o.file, is);
    steps = file->steps();
    far = memory_block(tier::host, kept * record, x.device(), "rows that are learned, of a file");
    char const* const at = static_cast<char const*>(far.data());
    records.rows.rows = kept;
    records.rows.add(tier::host, kept, 1, &at);
    cache = std::make_unique<record_cache>(*file, static_cast<char*>(far.data()), kept, record);
  }
  // Room for n records that the device reads, as a view of them.
  record_view staged(std::uint64_t n) const {
    std::uint64_t const bytes = n * records.rows.stride;
    if (some.bytes() < bytes) some = memory_block(), some = memory_block(tier::host, bytes, x.device(), "rows of a file on their way");
    record_view v = records;
    v.rows = row_view();
    v.rows.rows = n, v.rows.row_bytes = records.rows.row_bytes, v.rows.stride = records.rows.stride;
    v.rows.far = static_cast<char const*>(some.data());
    return v;
  }
  // The records of [first, first + n) as they are now, in `some`.
  record_view staged_rows(std::uint64_t first, std::uint64_t n) const {
    record_view const v = staged(n);
    std::vector<std::uint64_t> missing;
    std::vector<char*> to;
    for (std::uint64_t k = 0; k < n; ++k) {
      char* const at = static_cast<char*>(some.data()) + k * v.rows.stride;
      if (char const* const here = cache->find(first + k)) std::memcpy(at, here, v.rows.stride);
      else missing.push_back(first + k), to.push_back(at);
    }
    file->read(missing, to);
    return v;
  }
  void put_staged(std::uint64_t first, std::uint64_t n) {
    std::vector<std::uint64_t> missing;
    std::vector<char const*> from;
    for (std::uint64_t k = 0; k < n; ++k) {
      char const* const at = static_cast<char const*>(some.data()) + k * records.rows.stride;
      if (cache->find(first + k)) cache->put(first + k, at);
      else missing.push_back(first + k), from.push_back(at);
    }
    file->change(missing, from);
  }
  // Ids as the host reads them, checked.
  std::vector<std::uint64_t> ids_here(id_span ids, stream_ref stream) {
    std::vector<char> bytes(ids.size() * ids.id_bytes());
    calls.run(x, stream, [&] {
      x.copy(bytes.data(), ids.data(), bytes.size());
      x.wait();
    });
    calls.settle(x);
    batch_list const one = one_batch(ids, nullptr);
    batch_list here = one;
    here.ids[0] = bytes.data();
    std::vector<std::uint64_t> all(ids.size());
    for (std::uint64_t k = 0; k < ids.size(); ++k)
      if ((all[k] = here.id(0, k)) >= rows) refuse_id(x, one, k, rows);
    return all;
  }
  // Brings the rows of ids, and puts their slots where the device reads them.
  id_span bring(std::span<std::uint64_t const> ids, bool change) {
    std::vector<std::uint64_t> distinct(ids.begin(), ids.end());
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() > records.rows.rows)
      fail(errc::usage, "this step changes {} rows, and the host cache has room for {}; use a larger one, or fewer rows per step",
           distinct.size(), records.rows.rows);
    std::vector<std::uint64_t> at(distinct.size()), found(ids.size());
    cache->bring(distinct, change, at.data());
    for (std::size_t k = 0; k < ids.size(); ++k)
      found[k] = at[static_cast<std::size_t>(std::lower_bound(distinct.begin(), distinct.end(), ids[k]) - distinct.begin())];
    grow(x, slots, ids.size(), ids.size(), "where rows are", x.near());
    x.copy(slots.data(), found.data(), found.size() * sizeof(std::uint64_t));
    x.wait();
    return {slots.data(), ids.size(), 8, true};
  }
  void flush() {
    std::lock_guard const hold(turn);
    calls.settle(x);
    cache->write_back();
    file->flush(steps);
  }

  // The hottest rows first, then all others by their ids.
  void rank_all(std::uint64_t kept) {
    std::uint64_t const n = records.rows.rows;
    if (n > 0xffffffffu) fail(errc::usage, "{} rows cannot be placed by score; at most 2^32 - 1, leave scores out", n);
    buffer<std::uint64_t> const hot = hottest(o.scores, kept);
    buffer<std::uint32_t> rank(tier::host, n, -1, "ranks of the rows");
    for (std::uint64_t id = 0; id < n; ++id) rank[id] = ~0u;
    for (std::uint64_t k = 0; k < kept; ++k) rank[hot[k]] = static_cast<std::uint32_t>(k);
    std::uint64_t next = kept;
    for (std::uint64_t id = 0; id < n; ++id)
      if (rank[id] == ~0u) rank[id] = static_cast<std::uint32_t>(next++);
    ranks = memory_block(x.near(), rank.bytes(), x.device(), "ranks of the rows");
    x.copy(ranks.data(), rank.data(), rank.bytes());
    x.wait();
    records.rows.rank_of = ranks.data(), records.rows.rank_bytes = 4;
  }
  template <class F>
  static void each_part(std::uint64_t first, std::uint64_t count, std::uint64_t at_once, F f) {
    for (std::uint64_t r = first; r < first + count; r += at_once) f(r, std::min(at_once, first + count - r));
  }
  std::uint64_t far_rows() const { return o.device.kind == device_kind::cpu ? 0 : records.rows.rows_in(tier::host); }

  batch_list one_batch(id_span ids, void* out) const {
    batch_list one;
    one.add(ids, out);
    return one;
  }
  void require(id_span ids) {
    require_ids(ids);
    require_readable(x, ids.data(), "ids");
    if (ids.size() > 0xffffffffu) fail(errc::usage, "{} ids at once; at most 2^32 - 1", ids.size());
  }

  gather_run gather(id_span ids, row_output out, stream_ref stream) {
    std::lock_guard const hold(turn);
    require(ids);
    std::uint64_t const wanted = ids.size() * records.rows.row_bytes;
    if (ids.size() && !out.data()) fail(errc::usage, "{} ids and no output for their rows; pass one", ids.size());
    if (out.bytes() < wanted)
      fail(errc::usage, "{} rows take {} bytes, and the output has {}; pass a larger one", ids.size(), wanted, out.bytes());
    bool const sorts = far_rows() > 0;  // what stands several times crosses the link once
    gather_run run;
    run.strategy = gather_strategy::aligned;
    run.order = sorts ? gather_order::sorted : gather_order::none;
    run.duplicates = sorts ? gather_duplicates::once : gather_duplicates::repeat;
    run.rows = ids.size(), run.row_bytes = records.rows.row_bytes;
    run.why = sorts ? "rows in host memory cross the link in their order, each once" : "all rows are near";
    if (ids.size() == 0) return run;
    require_readable(x, out.data(), "outputs");
    if (!file) {
      gather_from(ids, out.data(), stream, sorts, run);
      return run;
    }
    std::vector<std::uint64_t> const all = ids_here(ids, stream);
    for (std::uint64_t done = 0; done < all.size();) {  // as many at once as the cache holds
      std::uint64_t const n = std::min(all.size() - done, records.rows.rows);
      calls.settle(x);
      gather_from(bring(std::span(all).subspan(done, n), false), static_cast<char*>(out.data()) + done * records.rows.row_bytes, stream,
                  sorts, run);
      done += n;
    }
    return run;
  }
  void gather_from(id_span ids, void* out, stream_ref stream, bool sorts, gather_run& run) {
    calls.run(x, stream, [&] {
      model.take();
      batch_list const one = one_batch(ids, out);
      x.fill(bad.data(), 0xff, sizeof(std::uint64_t));
      id_order const order = sorts ? order_ids(x, one, records.rows, records.rows.row_bytes, run.order, false, true, room, bad.data())
                                   : check_ids(x, one, records.rows.rows, bad.data());
      model.take();  // ids are on the device
      if (x.asynchronous()) {
        x.copy(bad_here.data(), bad.data(), sizeof(std::uint64_t));
        checked.record(x);
      }
      gather_rows(x, records.rows, one, order, {gather_strategy::aligned, o.kind, o.kind, nullptr, 0});
      checked.wait();  // while the rows come
      if (std::uint64_t const first = x.asynchronous() ? bad_here[0] : bad[0]; first != none) refuse_id(x, one, first, records.rows.rows);
      run.link = model.take();
    });
  }
  update_run update(id_span ids, gradient_span gradients, sparse_step const& s) {
    std::lock_guard const hold(turn);
    require(ids);
    if (gradients.size != ids.size() * records.width)
      fail(errc::usage, "{} numbers of gradients for {} ids; give {} for each", gradients.size, ids.size(), records.width);
    if (gradients.kind != element::f32 && gradients.kind != o.kind)
      fail(errc::usage, "gradients of {} for rows of {}; use f32, or what the rows are", to_string(gradients.kind), to_string(o.kind));
    require_numbers_of(s);
    check_interrupted();
    interrupts_held const whole_step;
    update_run run;
    gradient_rows g;
    g.count = ids.size(), g.rows = gradients.data, g.kind = gradients.kind;
    if (g.count == 0) {
      ++steps;
      return run;
    }
    require_readable(x, gradients.data, "gradients");
    if (file) ids = bring(ids_here(ids, s.stream), true);
    calls.run(x, s.stream, [&] {
      model.take();
      batch_list const one = one_batch(ids, nullptr);
      step_findings const nothing;
      x.copy(found.data(), &nothing, sizeof nothing);
      g.order = order_ids(x, one, records.rows, records.rows.row_bytes, gather_order::sorted, false, true, room, &found.data()->bad_id);
      look_at_gradients(x, records, g, found.data());
      model.take();  // the checked ids are on the device
      step_findings seen;
      if (x.asynchronous()) {
        x.copy(found_here.data(), found.data(), sizeof(step_findings));
        checked.record(x);
      }
      step_records(x, records, g, numbers_of(s), found.data());
      if (x.asynchronous()) checked.wait(), seen = found_here[0];  // while records are stepped
      else seen = found[0];
      if (seen.bad_id != none) refuse_id(x, one, seen.bad_id, records.rows.rows);
      if (seen.bad_gradient != none)
        fail(errc::input,
             "the gradient of row {} is not a finite number; this step changed nothing; look for NaN or infinity in the loss, or use a "
             "smaller learning rate",
             row_of(x.read(g.order.keys + seen.bad_gradient)));
      run.rows = seen.rows;
      run.remote_rows = o.device.kind == device_kind::cpu ? 0 : seen.far_rows;
      run.remote_bytes = run.remote_rows * records.rows.stride;
      run.link = model.take();
    });
    ++steps;
    return run;
  }
  std::uint64_t row_of(std::uint64_t key) const { return cache ? cache->row_in(key) : key; }
  void require_numbers_of(sparse_step const& s) const {
    auto const within = [](double v, double low, double below) { return v >= low && v < below; };
    if (!(within(s.learning_rate, 0, 1e30) && s.learning_rate > 0)) fail(errc::usage, "a rate of {}: use more than 0", s.learning_rate);
    if (!within(s.rate_decay, 0, 1e30)) fail(errc::usage, "a decay of the rate of {}: use 0 or more", s.rate_decay);
    if (!within(s.beta1, 0, 1)) fail(errc::usage, "beta1 {}: use 0 or more, and less than 1", s.beta1);
    if (!within(s.beta2, 0, 1)) fail(errc::usage, "beta2 {}: use 0 or more, and less than 1", s.beta2);
    if (s.epsilon && !within(*s.epsilon, 0, 1e30)) fail(errc::usage, "an epsilon of {}: use 0 or more", *s.epsilon);
  }
  step_numbers numbers_of(sparse_step const& s) const {
    step_numbers n;
    double rate = s.learning_rate, epsilon = 0;
    auto const step = static_cast<double>(steps + 1);
    if (o.optimizer == row_optimizer::adagrad) {
      rate /= 1 + (step - 1) * s.rate_decay;
      epsilon = s.epsilon.value_or(1e-10);
    } else if (o.optimizer == row_optimizer::adam) {
      rate *= std::sqrt(1 - std::pow(s.beta2, step)) / (1 - std::pow(s.beta1, step));
      epsilon = s.epsilon.value_or(1e-8);
      n.first_share = static_cast<float>(1 - s.beta1), n.second_share = static_cast<float>(1 - s.beta2);
    }
    n.rate = static_cast<float>(rate), n.epsilon = static_cast<float>(epsilon);
    return n;
  }

  // --- the state in host memory ---
  std::uint32_t array(std::string_view what) const {
    std::vector<std::string> const names = names_of(o.optimizer);
    if (what == "weight") return 0;
    for (std::size_t k = 0; k < names.size(); ++k)
      if (what == names[k]) return static_cast<std::uint32_t>(k + 1);
    fail(errc::usage, "'{}' is not an array of an embedding by {}; use weight{}{}", what, to_string(o.optimizer),
         names.empty() ? "" : " or ", fmt::join(names, ", "));
  }
  void check_range(std::uint64_t first, std::uint64_t count, std::uint64_t floats) const {
    if (first > rows || count > rows - first) fail(errc::usage, "rows {} to {} of a table of {}", first, first + count, rows);
    if (floats != count * records.width) fail(errc::usage, "{} numbers for {} rows of {}", floats, count, records.width);
  }
  std::uint64_t moved_rows(std::uint64_t count) const {  // a device block for so many, 16 MiB at most
    std::uint64_t const n = std::min(count, std::max<std::uint64_t>(1, (4u << 20) / records.width));
    grow(x, moved, n * records.width, n * records.width, "rows on their way to the host", x.near());
    return n;
  }
  void read(std::uint32_t which, std::uint64_t first, std::uint64_t count, float* to) const {
    calls.settle(x);
    if (count == 0) return;
    each_part(first, count, moved_rows(count), [&](std::uint64_t r, std::uint64_t n) {
      if (file) read_records(x, staged_rows(r, n), which, 0, n, moved.data());
      else read_records(x, records, which, r, n, moved.data());
      x.copy(to + (r - first) * records.width, moved.data(), n * records.width * sizeof(float));
      x.wait();
    });
  }
  void write(std::uint32_t which, std::uint64_t first, std::uint64_t count, float const* from) {
    calls.settle(x);
    if (count == 0) return;
    each_part(first, count, moved_rows(count), [&](std::uint64_t r, std::uint64_t n) {
      x.copy(moved.data(), from + (r - first) * records.width, n * records.width * sizeof(float));
      if (file) write_records(x, staged_rows(r, n), which, 0, n, moved.data());
      else write_records(x, records, which, r, n, moved.data());
      x.wait();
      if (file) put_staged(r, n);
    });
  }

  std::vector<std::string> arrays() const {
    std::vector<std::string> all{"weight"};
    for (std::string const& name : names_of(o.optimizer)) all.push_back(name);
    return all;
  }
  element kind_of(std::uint32_t which) const { return which ? element::f32 : o.kind; }
  std::vector<std::uint64_t> shape() const { return {rows, records.width}; }
  checkpoint::texts made_for() const {
    std::string const kind = o.kind == element::f32 ? "" : fmt::format(" {}", to_string(o.kind));
    return {{"embedding", fmt::format("{} rows of {}{}, stepped by {}", rows, records.width, kind, to_string(o.optimizer))}};
  }
  void save(std::filesystem::path const& file) const {
    std::lock_guard const hold(turn);
    checkpoint c;
    c.made_for = made_for();
    c.arrays.push_back({"step", {1}, std::vector<std::uint64_t>{steps}});
    std::vector<std::string> const names = arrays();
    for (std::uint32_t k = 0; k < names.size(); ++k)
      c.large.push_back(
          {names[k], shape(), [this, k](std::uint64_t first, std::uint64_t n, float* to) { read(k, first, n, to); }, kind_of(k)});
    c.write(file);
  }
  void load(std::filesystem::path const& file) {
    std::lock_guard const hold(turn);
    std::vector<std::string> const names = arrays();
    checkpoint const c = checkpoint::read(file, checkpoint::kind::checkpoint, {names.begin(), names.end()});
    c.require_made_for(made_for());
    std::uint64_t const step = c.values<std::uint64_t>("step", {1})[0];
    for (std::uint32_t k = 0; k < names.size(); ++k) c.read_large(names[k], shape(), {}, kind_of(k));
    interrupts_held const whole;
    for (std::uint32_t k = 0; k < names.size(); ++k)
      c.read_large(
          names[k], shape(), [&](std::uint64_t first, std::uint64_t n, float const* from) { write(k, first, n, from); }, kind_of(k));
    steps = step;
  }

  std::string about() const {
    row_view const& v = records.rows;
    std::string text = fmt::format("{}: of {} rows of {} bytes ({} with what {} keeps of them) ", to_string(o.device), rows, v.row_bytes,
                                   v.stride, to_string(o.optimizer));
    if (file) return text + fmt::format("all lie in {}, {} of them also in host memory", file->name(), v.rows);
    if (o.device.kind == device_kind::cpu) return text + "all lie in host memory";
    std::uint64_t const here = v.rows_in(tier::device), there = v.rows_in(tier::host);
    return text + fmt::format("{} ({}) lie here, {} ({}) in host memory{}{}", here, format_bytes(here * v.stride), there,
                              format_bytes(there * v.stride),
                              here && there ? v.rank_of ? "; the hottest by score are near" : "; the first are near" : "", why);
  }
};

embedding::embedding(std::uint64_t rows, std::uint64_t width, embedding_options const& options)
    : impl_(as_error([&] { return std::make_unique<impl>(rows, width, options); })) {}
embedding::~embedding() = default;
embedding::embedding(embedding&&) noexcept = default;
embedding& embedding::operator=(embedding&&) noexcept = default;

std::uint64_t embedding::rows() const { return impl_->rows; }
std::uint64_t embedding::width() const { return impl_->records.width; }
std::uint64_t embedding::record_bytes() const { return impl_->records.rows.stride; }
row_optimizer embedding::optimizer() const { return impl_->o.optimizer; }
element embedding::kind() const { return impl_->o.kind; }
execution_device embedding::device() const { return impl_->o.device; }
std::uint64_t embedding::steps() const {
  std::lock_guard const hold(impl_->turn);
  return impl_->steps;
}
rows_by_tier embedding::tiers() const {
  rows_by_tier rows;
  for (tier const t : {tier::device, tier::host}) rows[t] = impl_->records.rows.rows_in(t);
  rows[tier::file] = impl_->rows - impl_->records.rows.rows;
  return rows;
}
std::string embedding::about() const {
  return as_error([&] { return impl_->about(); });
}

gather_run embedding::gather(id_span ids, row_output out, stream_ref stream) {
  return as_error([&] { return impl_->gather(ids, out, stream); });
}
update_run embedding::update(id_span ids, gradient_span gradients, sparse_step const& options) {
  return as_error([&] { return impl_->update(ids, gradients, options); });
}
std::vector<std::string> embedding::states() const {
  return as_error([&] { return names_of(impl_->o.optimizer); });
}
void embedding::read(std::string_view what, std::uint64_t first, std::uint64_t count, std::span<float> to) const {
  as_error([&] {
    std::lock_guard const hold(impl_->turn);
    std::uint32_t const which = impl_->array(what);
    impl_->check_range(first, count, to.size());
    impl_->read(which, first, count, to.data());
  });
}
void embedding::write(std::string_view what, std::uint64_t first, std::uint64_t count, std::span<float const> from) {
  as_error([&] {
    std::lock_guard const hold(impl_->turn);
    std::uint32_t const which = impl_->array(what);
    impl_->check_range(first, count, from.size());
    impl_->write(which, first, count, from.data());
  });
}
void embedding::set_steps(std::uint64_t steps) {
  std::lock_guard const hold(impl_->turn);
  impl_->steps = steps;
}
void embedding::flush() {
  as_error([&] {
    if (impl_->file) impl_->flush();
  });
}
void embedding::save(std::filesystem::path const& file) const {
  as_error([&] { impl_->save(file); });
}
void embedding::load(std::filesystem::path const& file) {
  as_error([&] { impl_->load(file); });
}

}  // namespace garner
