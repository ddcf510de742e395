// Who owns the tiers of a table, and what a call of gather does.
// Invariant: the order of what is given to the executor is the order of the calls; one call at a time. Gathers share what they sort in, so
// each comes after the event behind the last one, on the device and whatever its stream: a stream that was destroyed and one made since may
// have the same address, and the work of the first may still run. A failed call leaves the tensor as it was.
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>

#include "access/bulk.hpp"
#include "access/traffic.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "features/choose.hpp"
#include "features/gather.hpp"
#include "features/place_rows.hpp"
#include "memory/budget.hpp"
#include "memory/peer_group.hpp"
#include "memory/pin.hpp"
#include "memory/self_test.hpp"

namespace garner {

namespace {
constexpr std::uint64_t none = ~std::uint64_t{0};
constexpr std::size_t score_grain = 1u << 20;
constexpr char const* peer_use = "rows kept on a peer";

std::uint64_t table_bytes(row_array const& rows) {
  std::uint64_t elements = 0, bytes = 0;
  if (__builtin_mul_overflow(rows.rows, rows.width, &elements) || __builtin_mul_overflow(elements, bytes_of(rows.kind), &bytes) ||
      bytes > none >> 8)
    fail(errc::usage, "a table of {} rows of {} elements is more than a machine addresses", rows.rows, rows.width);
  if (bytes && !rows.data) fail(errc::usage, "a table of {} rows has no data", rows.rows);
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
    if (bytes == 0) fail(errc::usage, "an empty array cannot be pinned; a unified tensor holds at least one element");
    if (device >= 0) pages = pinned_pages(rows.data, bytes, device);
  }
  mapping(mapping const&) = delete;
  mapping& operator=(mapping const&) = delete;
};
unified_tensor::unified_tensor(row_array rows, int device) : mapping_(std::make_shared<mapping const>(std::move(rows), device)) {}
row_array const& unified_tensor::rows() const { return mapping_->rows; }
void const* unified_tensor::device_data() const { return mapping_->pages ? mapping_->pages.device_data() : mapping_->rows.data; }
int unified_tensor::device() const { return mapping_->device; }

// --- tiered ------------------------------------------------------------------------------------------------------------------------------
namespace {

// The rows in host memory by the copy engine, the others as usual. The ids have been checked.
void bulk_rows_of(executor& x, row_tiers const& from, batch_list const& to, id_order const& order, gather_how how,
                  unsigned multiprocessors) {
  if (from.peer_end > 0) {
    how.way = gather_way::aligned;
    gather_rows(x, from, to, order, how);
  }
  bulk_rows what;
  what.table = from.far;
  what.first_row = what.first_far = order.far_from;
  what.rows = from.rows, what.row_bytes = from.row_bytes;
  what.ids = order.keys ? order.keys : order.ids;
  what.id_bytes = order.keys ? 8 : order.id_bytes;
  what.id_shift = order.shift;
  what.count = to.total();
  what.positions = order.positions;
  what.out = to.outs[0];
  what.places = order.places;
  for (std::uint32_t b = 0; b < to.count; ++b) what.place_bits |= reinterpret_cast<std::uintptr_t>(to.outs[b]);
  gather_bulk(x, what, {multiprocessors, 0, 0});
}

struct event {  // of a device; made once it is needed
  void* at = nullptr;
  int device = -1;
  event() = default;
  event(event const&) = delete;
  event& operator=(event const&) = delete;
  ~event() {
    if (at) device::free_event(device, at);
  }
  void make(int d) { at = device::make_event(d), device = d; }
};

// Two pinned buffers: the host gathers into one while the other is sent.
struct stage {
  static constexpr std::uint64_t bytes = 16u << 20;
  memory_block buffers[2];
  void* sent[2] = {};
  bool used[2] = {};
  int device = -1;
  ~stage() {
    for (void* e : sent)
      if (e) device::free_event(device, e);
  }
  void close() {  // what was sent has been waited for
    for (memory_block& b : buffers) b.reset();
  }
  void open(int d, std::uint64_t row_bytes) {
    device = d;
    for (int k = 0; k < 2; ++k) {
      if (!sent[k]) sent[k] = device::make_event(d);
      if (buffers[k].bytes() < row_bytes || !buffers[k].data())
        buffers[k] = memory_block(tier::host, std::max(bytes, row_bytes), d, "buffers of a staged gather");
    }
  }
};

}  // namespace

struct tiered_tensor::parts {
  std::mutex turn;
  row_array source;
  std::uint64_t row_bytes = 0;
  traffic_model model{access_mode::aligned};
  executor x;
  std::optional<unified_tensor> mapped;
  memory_block near_rows, ranks;
  std::shared_ptr<rows_on_peers const> peers;  // of all tensors that lie beside each other
  buffer<float> scales, call_scales;
  std::vector<float> host_scales;  // for staged gathers
  row_tiers view;
  std::string about;
  gather_figures figures = gather_figures::shipped();
  id_sorter room;
  buffer<std::uint64_t> bad, bad_here, counts;  // bad: the first position with a bad id, how many were left out to be copied
  event checked, done;
  bool has_bulk = false;
  bool pending = false;  // the last gather may still run
  stage staged;

  parts(row_array rows, tiered_options const& o) : source(std::move(rows)), x(o.where, &model) {
    table_bytes(source);
    row_bytes = source.row_bytes();
    if (row_bytes >> 31) fail(errc::usage, "rows of {} bytes; a row has less than 2 GiB", row_bytes);
    view.rows = source.rows, view.row_bytes = row_bytes;
    view.far = static_cast<char const*>(source.data);
    if (!o.scores.empty() && o.scores.size() != source.rows)
      fail(errc::usage, "{} scores for a table of {} rows; give one a row", o.scores.size(), source.rows);
    require_numbers(o.scores);
    require_scales(o.scales, source.rows, source.kind);
    make_ready();
    if (!o.scales.empty()) {
      scales = {x.near(), o.scales.size(), x.device(), "factors of the rows"};
      x.copy(scales.data(), o.scales.data(), o.scales.size_bytes());
      x.wait();
      if (x.on_device()) host_scales.assign(o.scales.begin(), o.scales.end());
    }
    place_rows(o);
  }
  // Beside another one: the same rows are near, the others are those that `first` reads, where they are.
  parts(parts const& first, place where)
      : source(first.source),
        row_bytes(first.row_bytes),
        x(where, &model),
        peers(first.peers),
        host_scales(first.host_scales),
        view(first.view) {
    if (where.kind != first.x.where().kind)
      fail(errc::usage, "a table whose rows lie as those of {} cannot be gathered at {}; make a tensor for it", to_string(first.x.where()),
           to_string(where));
    if (peers && peers->group)
      fail(errc::usage, "the peers of this table are processes, each of which gathers at its own device; make a tensor in a process of {}",
           to_string(where));
    make_ready();
    auto const same = [&](void const* from, std::size_t bytes, char const* what) {
      memory_block block(x.near(), bytes, x.device(), what);
      if (bytes) x.copy(block.data(), from, bytes);
      return block;
    };
    std::string note = fmt::format("; beside {}", to_string(first.x.where()));
    if (peers && x.on_device())
      if (std::string const none = no_fast_link(where.index, peers->devices); !none.empty()) {
        note += none;  // then theirs are read from host memory, which has all rows
        view.peer_end = view.near_end, view.peers = 0;
        peers.reset();
      }
    if (peers && x.on_device())
      for (int p : peers->devices) device::enable_peer(x.device(), p);
    near_rows = same(first.near_rows.data(), first.near_rows.bytes(), "rows kept on the device");
    view.near = static_cast<char const*>(near_rows.data());
    ranks = same(first.ranks.data(), first.ranks.bytes(), "ranks of the rows");
    view.rank_of = ranks.data();
    if (!first.scales.empty()) {
      scales = {x.near(), first.scales.size(), x.device(), "factors of the rows"};
      x.copy(scales.data(), first.scales.data(), scales.bytes());
    }
    x.wait();
    map_rest();
    tell(note);
  }
  void make_ready() {
    bad = {x.near(), 2, x.device(), "the status of gathers"};
    counts = {x.near(), 3, x.device(), "hits of a gather"};
    if (x.on_device()) {
      bad_here = {tier::host, 2, x.device(), "the status of gathers"};
      checked.make(x.device());
      done.make(x.device());
      has_bulk = has_bulk_copies(x.device());
      if (auto const link = known_link(x.device())) figures = gather_figures::of(*link);
    }
  }
  ~parts() {
    try {
      if (pending) device::wait_event(done.at);
    } catch (...) {  // what went wrong was told to who looked at the stream
    }
  }

  static void require_scales(std::span<float const> scales, std::uint64_t rows, element kind) {
    if (scales.empty()) return;
    if (kind != element::i8) fail(errc::usage, "factors of rows are for i8 rows; these are {}", to_string(kind));
    if (scales.size() != rows) fail(errc::usage, "{} factors for a table of {} rows; give one a row", scales.size(), rows);
  }

  // --- placement ---
  static std::uint64_t free_on(int device) {
    budget const& b = device_budget(device);
    return std::min(device::memory(device).free_bytes, b.limit() - std::min(b.limit(), b.used()));
  }
  static std::string no_fast_link(int reader, std::vector<int> const& owners) {
    for (int p : owners)
      if (!device::peer_of(reader, p).fast)
        return fmt::format("; device {} has no fast link to device {}, so no rows lie on peers", reader, p);
    return "";
  }
  void place_rows(tiered_options const& o) {
    place const where = o.where;
    if (o.peers.size() > row_tiers::most_peers) fail(errc::usage, "{} peers; at most {}", o.peers.size(), row_tiers::most_peers);
    if (std::set<int>(o.peers.begin(), o.peers.end()).size() != o.peers.size()) fail(errc::usage, "a peer is named twice");
    auto const me = std::find(o.peers.begin(), o.peers.end(), where.index);
    if (!o.peers.empty() && where.kind != place_kind::host && me == o.peers.end())
      fail(errc::usage, "peers must name {} too, since it holds its share of the rows",
           where.kind == place_kind::traced ? std::to_string(where.index) : to_string(where));
    if (o.peers.empty() && o.peer_budget.value_or(0) > 0) fail(errc::usage, "a budget for peers, and no peers; say which devices they are");
    if (o.peers.empty() && !o.group.empty())
      fail(errc::usage, "a group of processes ('{}') and no peers; say at which devices they gather, all of them in the same order",
           o.group);
    if (where.kind == place_kind::host) return tell("");
    row_budget b{source.rows, row_bytes, o.device_budget, o.peer_budget, 0, 0, 0};
    std::vector<int> devices = o.peers;
    std::string note;
    std::optional<peer_group> group;
    std::uint32_t const mine = static_cast<std::uint32_t>(me - o.peers.begin());  // in a group
    if (!o.group.empty())
      group.emplace(o.group,
                    peer_group::terms{static_cast<std::uint32_t>(devices.size()), mine, x.device(), same_for_all(o), o.wait_seconds});
    if (where.kind == place_kind::device) {
      note = no_fast_link(where.index, devices);
      if (!note.empty()) devices.clear();
      b.free_here = free_on(where.index);
      b.least_free_of_peers = devices.empty() ? 0 : none;
      for (int p : devices)
        if (!group || p == where.index) b.least_free_of_peers = std::min(b.least_free_of_peers, free_on(p));
    }
    b.peers = static_cast<std::uint32_t>(devices.size());
    row_shares shares = share_rows(b);
    if (group) {  // what none of them must refuse
      auto const least = group->least_of({shares.near, shares.peer, b.peers});
      if (least[2] == 0 && b.peers) {
        note = "; not all processes have fast links, so no rows lie on peers";
        b.peers = 0;
        shares = share_rows(b);
      } else if (b.peers) {
        if (least[0] < shares.near || least[1] < shares.peer) shares.why += "; as much as all processes have room for";
        shares.near = least[0], shares.peer = least[1];
      }
    }
    std::uint64_t const kept = shares.near + shares.peer;
    bool const mapped_ids = !o.scores.empty() && kept > 0 && shares.near < source.rows;
    buffer<std::uint64_t> hot;
    if (mapped_ids) hot = hottest(o.scores, kept);
    // The rows of the tiers: rank first + k * step for k in [0, n) to one block.
    auto const ids_of = [&](std::uint64_t first, std::uint64_t step) {
      return [&hot, first, step](std::uint64_t k, std::uint64_t n, std::uint64_t* ids) {
        for (std::uint64_t i = 0; i < n; ++i) {
          std::uint64_t const rank = first + (k + i) * step;
          ids[i] = hot.empty() ? rank : hot[rank];
        }
      };
    };
    progress told("placing rows",
                  (group ? shares.near + rows_of_peer(shares.peer, devices.empty() ? 1 : devices.size(), mine) : kept) * row_bytes);
    if (shares.near) {
      near_rows = memory_block(x.near(), shares.near * row_bytes, x.device(), "rows kept on the device");
      send(shares.near, ids_of(0, 1), static_cast<char*>(near_rows.data()), told);
    }
    if (shares.peer) {
      auto lie = std::make_shared<rows_on_peers>();
      lie->devices = devices;
      for (std::uint32_t p = 0; p < b.peers; ++p) {
        std::uint64_t const n = rows_of_peer(shares.peer, b.peers, p);
        void* to = nullptr;
        if (group) {
          if (p != mine) continue;
          to = group->make(n * row_bytes, rows_of_peer(shares.peer, b.peers, 0) * row_bytes, peer_use);
        } else {
          to = lie->blocks.emplace_back(x.near(), n * row_bytes, x.on_device() ? devices[p] : -1, peer_use).data();
          lie->at.push_back(to);
        }
        if (n) send(n, ids_of(shares.near + p, b.peers), static_cast<char*>(to), told);
      }
      if (x.on_device() && !group)  // opening what a process exported permits reading it
        for (int p : devices) device::enable_peer(x.device(), p);
      if (group) {
        lie->at = group->open();
        lie->group = std::move(group);
      }
      for (std::uint32_t p = 0; p < b.peers; ++p) view.peer[p] = static_cast<char const*>(lie->at[p]);
      peers = std::move(lie);
    }
    view.near = static_cast<char const*>(near_rows.data());
    view.near_end = shares.near, view.peer_end = kept, view.peers = shares.peer ? b.peers : 0;
    if (mapped_ids) keep_ranks(hot);
    map_rest();
    tell((where.kind == place_kind::device ? shares.why : "") + note);
  }
  // The processes of a group must place the same rows of the same table.
  std::string same_for_all(tiered_options const& o) const {
    std::uint64_t h = 0;
    std::vector<std::uint64_t> sums((o.scores.size() + score_grain - 1) / score_grain);
    x.threads().run(sums.size(), 1, [&](std::uint64_t k, std::uint64_t) {
      std::uint64_t sum = 0;
      for (float s : o.scores.subspan(k * score_grain, std::min(score_grain, o.scores.size() - k * score_grain)))
        sum = mix(sum ^ std::bit_cast<std::uint32_t>(s));
      sums[k] = sum;
    });
    for (std::uint64_t s : sums) h = mix(h ^ s);
    std::string peers_are = "traced";
    if (x.on_device()) {  // by their addresses, since each process has its own numbers
      peers_are.clear();
      for (int p : o.peers) peers_are += (peers_are.empty() ? "" : " ") + device::describe(p).pci;
    }
    return fmt::format("{} rows of {} bytes ({}), {}, peers {} ({})", source.rows, row_bytes, to_string(source.kind),
                       o.scores.empty() ? "no scores" : fmt::format("scores that add up to {:016x}", h), fmt::join(o.peers, ","),
                       peers_are);
  }
  void map_rest() {
    if (!x.on_device()) return;
    staged.close();
    if (view.peer_end == source.rows || row_bytes == 0) return;
    self_test(x.device());
    mapped.emplace(source, x.device());
    view.far = static_cast<char const*>(mapped->device_data());
  }
  void tell(std::string const& note) {
    if (x.where().kind == place_kind::host) {
      about = fmt::format("host: {} rows of {} bytes in host memory, where they were{}", source.rows, row_bytes, as_bytes());
      return;
    }
    std::uint64_t const near = view.near_end, peer = view.peer_end - near, far = source.rows - view.peer_end;
    about = fmt::format("{}: of {} rows of {} bytes {} ({}) lie here", to_string(x.where()), source.rows, row_bytes, near,
                        format_bytes(near * row_bytes));
    if (peer) {
      about += fmt::format(", {} ({}) on {} peers in turn", peer, format_bytes(peer * row_bytes), view.peers);
      if (peers->group) about += ", a process each";
    }
    about += fmt::format(", {} ({}) in host memory", far, format_bytes(far * row_bytes));
    if (view.peer_end && far)
      about +=
          view.rank_of ? fmt::format("; the hottest by score are near ({} of ranks)", format_bytes(ranks.bytes())) : "; the first are near";
    about += note + as_bytes();
  }
  std::string as_bytes() const { return source.type.empty() ? "" : fmt::format("; elements of {} are held as raw bytes", source.type); }
  void keep_ranks(buffer<std::uint64_t> const& hot) {
    view.rank_bytes = 4;  // hottest() gives fewer than 2^32
    memory_block built(tier::host, source.rows * view.rank_bytes, -1, "ranks of the rows");
    auto* const rank = static_cast<std::uint32_t*>(built.data());
    x.threads().run(source.rows, 1u << 20, [&](std::uint64_t a, std::uint64_t b) { std::memset(rank + a, 0xff, (b - a) * 4); });
    x.threads().run(hot.size(), 1u << 20, [&](std::uint64_t a, std::uint64_t b) {
      for (std::uint64_t k = a; k < b; ++k) rank[hot[k]] = static_cast<std::uint32_t>(k);
    });
    if (x.on_device()) {
      ranks = memory_block(tier::device, built.bytes(), x.device(), "ranks of the rows");
      x.copy(ranks.data(), built.data(), built.bytes());
      x.wait();
    } else {
      ranks = std::move(built);
    }
    view.rank_of = ranks.data();
  }

  // Rows of the user's array, n of them, to `to` on any device: gathered by the host, sent in two buffers in turn.
  using id_source = std::function<void(std::uint64_t first, std::uint64_t n, std::uint64_t* ids)>;
  void send(std::uint64_t n, id_source const& ids_of, char* to, progress& told) {
    gather_how how{gather_way::naive, source.kind, source.kind, nullptr, 0};
    send(n, ids_of, to, how, &told);
  }
  void send(std::uint64_t n, id_source const& ids_of, char* to, gather_how const& how, progress* told) {
    executor here(place{place_kind::host, 0});
    row_tiers all;
    all.rows = source.rows, all.row_bytes = row_bytes, all.far = static_cast<char const*>(source.data);
    std::uint64_t const out_bytes = source.width * bytes_of(how.to),
                        each = std::max<std::uint64_t>(1, stage::bytes / std::max<std::uint64_t>(1, out_bytes));
    if (x.on_device()) staged.open(x.device(), out_bytes);
    std::vector<std::uint64_t> ids(std::min(n, each));
    for (std::uint64_t k = 0, turn = 0; k < n; k += each, turn ^= 1) {
      check_interrupted();
      std::uint64_t const some = std::min(each, n - k);
      ids_of(k, some, ids.data());
      char* at = to + k * out_bytes;
      if (x.on_device()) {
        if (staged.used[turn]) device::wait_event(staged.sent[turn]);
        at = static_cast<char*>(staged.buffers[turn].data());
      }
      batch_list batch;
      batch.add({ids.data(), some, 8}, at);
      id_order as_they_come;
      as_they_come.ids = ids.data();
      gather_rows(here, all, batch, as_they_come, how);
      if (x.on_device()) {
        x.copy(to + k * out_bytes, at, some * out_bytes);
        device::record(x.device(), x.stream(), staged.sent[turn]);
        staged.used[turn] = true;
      }
      if (told) told->advance(some * row_bytes);
    }
    x.wait();
  }

  // --- gathers ---
  element written(gather_options const& o) const {
    element const to = o.to.value_or(source.kind);
    if (!converts(source.kind, to))
      fail(errc::usage,
           "rows of {} cannot be written as {}; f16, bf16 and i8 become f32 or bf16, others are converted before they are a table",
           source.type.empty() ? std::string(to_string(source.kind)) : source.type + ", held as raw bytes,", to_string(to));
    return to;
  }
  gather_run explain(std::uint64_t n, gather_options const& o, bool window, std::span<void* const> outs = {}) const {
    element const to = written(o);
    auto const on_16 = [](void const* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
    bool const engine = has_bulk && on_16(view.far) && std::all_of(outs.begin(), outs.end(), on_16);
    bool const far_places =
        x.on_device() && std::any_of(outs.begin(), outs.end(), [](void const* at) { return at && device::pinned_from(at) > 0; });
    gather_run run = choose(
        {x.where(), n, row_bytes, source.rows, source.rows - view.peer_end, engine, window, to != source.kind, far_places}, o, figures);
    run.row_bytes = source.width * bytes_of(to);
    return run;
  }
  // A kernel that reads elsewhere ends the device's context.
  void require_here(void const* at, char const* what) const {
    if (x.on_device() && at && !device::reads(x.device(), at))
      fail(errc::usage,
           "{} lie in memory that {} does not read; give memory of that device, or host memory that is pinned (unified_tensor)", what,
           to_string(x.where()));
  }
  void require_ids(id_array const& ids) const {
    if (ids.id_bytes != 4 && ids.id_bytes != 8) fail(errc::usage, "ids of {} bytes; say 4 or 8", ids.id_bytes);
    if (ids.is_unsigned && ids.id_bytes != 8) fail(errc::usage, "unsigned ids of {} bytes; widen them to 8", ids.id_bytes);
    if (ids.count && !ids.data) fail(errc::usage, "{} ids and no data", ids.count);
    if (reinterpret_cast<std::uintptr_t>(ids.data) % ids.id_bytes != 0)
      fail(errc::usage, "ids of {} bytes that are not aligned to {}", ids.id_bytes, ids.id_bytes);
  }
  // Names the id that stands at `position` of these batches, of which `before` others came before.
  [[noreturn]] void refuse(batch_list const& batches, std::uint64_t position, std::uint64_t before, bool many) {
    std::uint32_t const b = batches.batch_of(position);
    std::uint64_t const k = position - batches.start[b];
    char const* const at = static_cast<char const*>(batches.ids[b]) + k * batches.id_bytes[b];
    std::int64_t const id =
        batches.id_bytes[b] == 4 ? x.read(reinterpret_cast<std::int32_t const*>(at)) : x.read(reinterpret_cast<std::int64_t const*>(at));
    bool const positive = batches.of_unsigned >> b & 1;
    fail(errc::input, "id {} at position {}{}: this table has {}",
         positive ? std::to_string(static_cast<std::uint64_t>(id)) : std::to_string(id), k,
         many ? fmt::format(" of batch {}", before + b) : "", source.rows ? fmt::format("rows 0 to {}", source.rows - 1) : "no rows");
  }

  void staged_gather(batch_list const& batches, std::uint64_t before, bool many, gather_how how, gather_options const& o) {
    executor here(place{place_kind::host, 0});
    how.way = gather_way::naive;
    if (how.scales) how.scales = !o.scales.empty() ? o.scales.data() : x.on_device() ? host_scales.data() : scales.data();
    std::uint64_t const out_bytes = source.width * bytes_of(how.to);
    std::vector<std::byte> ids;
    for (int pass = 0; pass < 2; ++pass)  // first all ids are looked at
      for (std::uint32_t b = 0; b < batches.count; ++b) {
        std::uint64_t const n = batches.start[b + 1] - batches.start[b];
        if (pass == 0 || batches.count > 1) {
          ids.resize(n * batches.id_bytes[b]);
          x.copy(ids.data(), batches.ids[b], ids.size());
          x.wait();
        }
        batch_list one;
        one.add({ids.data(), n, batches.id_bytes[b]}, nullptr);
        if (pass == 0) {
          std::uint64_t first = none;
          check_ids(here, one, source.rows, &first);
          if (first != none) refuse(batches, batches.start[b] + first, before, many);
        } else if (out_bytes) {
          send(
              n,
              [&](std::uint64_t k, std::uint64_t some, std::uint64_t* to) {
                for (std::uint64_t i = 0; i < some; ++i) to[i] = one.id(0, k + i);
              },
              batches.outs[b], how, nullptr);
        }
      }
  }

  void some_batches(batch_list const& batches, std::uint64_t before, bool many, gather_run const& run, gather_how how,
                    gather_options const& o) {
    std::uint64_t const n = batches.total();
    if (n == 0) return;
    if (run.way == gather_way::staged) return staged_gather(batches, before, many, how, o);
    x.fill(bad.data(), 0xff, sizeof(std::uint64_t));
    id_order order;
    bool const bulk = run.way == gather_way::bulk && row_bytes > 0 && source.rows > view.peer_end;
    bool const once = run.duplicates == gather_duplicates::once, finds = once && run.order != gather_order::sorted;
    bool const split = bulk && (view.peer_end > 0 || finds);  // so that the copy engine knows what is left out
    if (run.order == gather_order::none && !finds && batches.count == 1 && !bulk && row_bytes > 0 && x.where().kind == place_kind::host) {
      // Threads of the host meet once a gather: short rows take less time than a second pass over their ids where others keep it busy.
      if (how.way == gather_way::bulk) how.way = gather_way::aligned;
      gather_rows(x, view, batches, as_given(batches), how, bad.data());
      if (bad[0] != none) refuse(batches, bad[0], before, many);
      return;
    }
    if (run.order != gather_order::none || batches.count > 1 || split || finds) {
      if (finds) x.fill(bad.data() + 1, 0, sizeof(std::uint64_t));
      if (n > 0xffffffffu) fail(errc::usage, "{} ids cannot be brought into order; at most 2^32 - 1 a gather, or order none", n);
      order = order_ids(x, batches, view, source.width * bytes_of(how.to), run.order, split, once, room, bad.data());
    } else {
      order = check_ids(x, batches, source.rows, bad.data());
    }
    if (!x.on_device()) {
      if (bad[0] != none) refuse(batches, bad[0], before, many);
      model.take();  // ids are near
    } else {
      x.copy(bad_here.data(), bad.data(), (finds ? 2 : 1) * sizeof(std::uint64_t));
      device::record(x.device(), x.stream(), checked.at);
    }
    auto const refuse_bad = [&] {
      device::wait_event(checked.at);
      if (bad_here[0] == none) return;
      x.wait();
      refuse(batches, bad_here[0], before, many);
    };
    if (bulk) {  // the copy engine takes what it is given
      if (x.on_device()) refuse_bad();
      bulk_rows_of(x, view, batches, order, how, engine_share(o));
    } else {
      if (how.way == gather_way::bulk) how.way = gather_way::aligned;
      gather_rows(x, view, batches, order, how);
      if (x.on_device()) refuse_bad();  // while the rows come
    }
    // What crosses for the first of a row crosses for all of them; how many others there are came with what was wrong.
    if (finds) copy_repeats(x, batches, order, x.on_device() ? bad_here[1] : bad[1], source.width * bytes_of(how.to));
  }

  gather_run gather(std::span<id_array const> batches, std::span<void* const> outs, bool many, gather_options const& o) {
    std::lock_guard const hold(turn);
    if (batches.size() != outs.size()) fail(errc::usage, "{} batches of ids and {} places for rows", batches.size(), outs.size());
    if (o.load_bytes > 16 || (o.load_bytes & (o.load_bytes - 1)) != 0)
      fail(errc::usage, "loads of {} bytes; say 1, 2, 4, 8 or 16", o.load_bytes);
    element const to = written(o);
    require_scales(o.scales, source.rows, source.kind);
    std::uint64_t n = 0;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      require_ids(batches[b]);
      n += batches[b].count;
      if (batches[b].count && source.width && !outs[b]) fail(errc::usage, "{} ids and no place for their rows", batches[b].count);
      if (batches[b].count) require_here(batches[b].data, "ids");
      if (batches[b].count && row_bytes) require_here(outs[b], "places for rows");
      if (to != source.kind && reinterpret_cast<std::uintptr_t>(outs[b]) % bytes_of(to) != 0)
        fail(errc::usage, "a place for {} rows that is not aligned to {} bytes", to_string(to), bytes_of(to));
    }
    if (to != source.kind && reinterpret_cast<std::uintptr_t>(source.data) % bytes_of(source.kind) != 0)
      fail(errc::usage, "a table of {} that is not aligned to {} bytes", to_string(source.kind), bytes_of(source.kind));
    gather_run run = explain(n, o, batches.size() > 1, outs);
    if (n == 0) return run;
    require_peers();
    if (x.on_device()) {
      x.work_on(o.stream);
      if (pending) device::order_after(x.device(), x.stream(), done.at);
      x.limit_share(o.multiprocessors, o.multiprocessors ? 1024 : 256);
    }
    gather_how how{run.way, source.kind, to, nullptr, o.load_bytes};
    if (to != source.kind && source.kind == element::i8) {
      how.scales = scales.data();
      if (!o.scales.empty() && !x.on_device()) how.scales = o.scales.data();
      if (!o.scales.empty() && x.on_device()) {
        if (call_scales.size() < o.scales.size()) call_scales = {tier::device, o.scales.size(), x.device(), "factors of the rows"};
        x.copy(call_scales.data(), o.scales.data(), o.scales.size_bytes());
        how.scales = call_scales.data();
      }
    }
    model.take();
    try {
      for (std::size_t b = 0; b < batches.size();) {
        batch_list some;
        std::size_t const before = b;
        for (; b < batches.size() && some.count < batch_list::most; ++b) some.add(batches[b], outs[b]);
        some_batches(some, before, many, run, how, o);
        run.link += model.take();
      }
    } catch (...) {
      // What was started reads the table and the caller's ids, and nobody would wait for it: neither the caller nor a later gather.
      try {
        x.wait();
      } catch (...) {
      }
      throw;
    }
    if (x.on_device()) {
      if (!o.stream) {
        x.wait();
        pending = false;
        require_peers();  // they may have ended while their rows were read
      } else {
        device::record(x.device(), x.stream(), done.at);
        pending = true;
      }
    }
    return run;
  }

  void require_peers() const {
    if (peers && peers->group) peers->group->require_alive();
  }

  gather_hits hits(id_array ids) {
    std::lock_guard const hold(turn);
    require_ids(ids);
    if (ids.count == 0) return {};
    require_here(ids.data, "ids");
    if (x.on_device()) {
      if (std::exchange(pending, false)) device::wait_event(done.at);
      x.work_on(nullptr);
      x.limit_share(0);
    }
    batch_list one;
    one.add(ids, nullptr);
    x.fill(bad.data(), 0xff, sizeof(std::uint64_t));
    x.fill(counts.data(), 0, counts.bytes());
    check_ids(x, one, source.rows, bad.data());
    count_hits(x, view, one, counts.data());
    if (std::uint64_t const first = x.read(bad.data()); first != none) refuse(one, first, 0, false);
    std::uint64_t found[3];
    x.copy(found, counts.data(), sizeof found);
    x.wait();
    return {found[0], found[1], found[2]};
  }
};

tiered_tensor::tiered_tensor(row_array rows, tiered_options const& options) : parts_(std::make_unique<parts>(std::move(rows), options)) {}
tiered_tensor::tiered_tensor(std::unique_ptr<parts> made) : parts_(std::move(made)) {}
tiered_tensor tiered_tensor::beside(place where) const { return tiered_tensor(std::make_unique<parts>(*parts_, where)); }
tiered_tensor::~tiered_tensor() = default;
tiered_tensor::tiered_tensor(tiered_tensor&&) noexcept = default;
tiered_tensor& tiered_tensor::operator=(tiered_tensor&&) noexcept = default;

std::uint64_t tiered_tensor::rows() const { return parts_->source.rows; }
std::uint64_t tiered_tensor::width() const { return parts_->source.width; }
std::uint64_t tiered_tensor::row_bytes() const { return parts_->row_bytes; }
element tiered_tensor::kind() const { return parts_->source.kind; }
place tiered_tensor::where() const { return parts_->x.where(); }
std::uint64_t tiered_tensor::device_rows() const { return parts_->view.near_end; }
std::uint64_t tiered_tensor::peer_rows() const { return parts_->view.peer_end - parts_->view.near_end; }
std::uint64_t tiered_tensor::host_rows() const { return parts_->source.rows - parts_->view.peer_end; }
std::string tiered_tensor::about() const { return parts_->about; }

gather_run tiered_tensor::gather(id_array ids, void* out, gather_options const& options) {
  return parts_->gather({&ids, 1}, {&out, 1}, false, options);
}
gather_run tiered_tensor::gather_many(std::span<id_array const> batches, std::span<void* const> outs, gather_options const& options) {
  return parts_->gather(batches, outs, true, options);
}
gather_run tiered_tensor::explain(std::uint64_t ids, gather_options const& options, std::uint64_t batches) const {
  return parts_->explain(ids, options, batches > 1);
}
gather_hits tiered_tensor::hits(id_array ids) const { return parts_->hits(ids); }

}  // namespace garner
