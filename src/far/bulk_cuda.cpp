// The kernel of bulk gathers (far/bulk.hpp). Each warp walks chunks of 32 ids, a chunk ahead of what it stores: lane 0 asks the engine,
// the lanes keep what is known of the piece in stage s (lane s) and shift out what does not begin on 16 bytes. What must be visible before
// what:
//   the barriers' first state before the engine sees them        fence.proxy.async, once
//   the fetched bytes before the lanes or the engine read them   the wait on the stage's barrier
//   the lanes' reads of a stage before it is fetched into again  __syncwarp, then lane 0 asks
//   the engine's reads of a stage before the same                cp.async.bulk.wait_group.read, `lag` pieces later
// Napkin: the link needs 51 GB/s x 2 us = 100 KB on their way; 4 blocks hold 800 KB of stages.
#include <cuda_runtime.h>
#include <nv/target>

#include <algorithm>

#include "core/device.hpp"
#include "core/exec/current_device.hpp"
#include "core/fail.hpp"
#include "far/bulk.hpp"

namespace garner::on_gpu {

namespace {

// Instructions of compute capability 9.0; an older device never gets here (has_bulk_copies).
#define GARNER_SM90(...) NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (__VA_ARGS__), (__trap();))

using u32 = std::uint32_t;
using u64 = std::uint64_t;

__device__ u32 shared_address(void const* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }
__device__ void make_barrier(u32 barrier) { GARNER_SM90(asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");) }
__device__ void fence_barriers() { GARNER_SM90(asm volatile("fence.proxy.async.shared::cta;" ::: "memory");) }
__device__ void expect(u32 barrier, u32 bytes) {
  GARNER_SM90(asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");)
}
__device__ void fetch(u32 to, u64 from, u32 bytes, u32 barrier) {
  GARNER_SM90(asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
                           "r"(bytes), "r"(barrier)
                           : "memory");)
}
__device__ bool arrived(u32 barrier, u32 parity) {
  u32 yes = 0;
  GARNER_SM90(asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                           : "=r"(yes)
                           : "r"(barrier), "r"(parity)
                           : "memory");)
  return yes != 0;
}
__device__ void store(u64 to, u32 from, u32 bytes) {
  GARNER_SM90(asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory");)
}
__device__ void end_group() { GARNER_SM90(asm volatile("cp.async.bulk.commit_group;" ::: "memory");) }
template <int Pending>
__device__ void wait_until_read() {
  GARNER_SM90(asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");)
}
__device__ void wait_until_stored() { GARNER_SM90(asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");) }

constexpr unsigned all_lanes = 0xffffffffu;

struct arguments {
  u64 table, table_end, first_row, row_bytes, count, first_far, out;
  void const* ids;
  u32 const* positions;
  char* const* places;
  u32 id_shift, stages, stage_bytes;

  __device__ u64 place(u64 k) const {
    u64 const position = positions ? positions[k] : k;
    return places ? reinterpret_cast<u64>(places[position]) : out + position * row_bytes;
  }
};

template <class Id>
struct walker {  // over the pieces of a warp, in order
  arguments const& a;
  unsigned lane;
  u64 chunk, step;  // the first id of the chunk; the distance to the warp's next
  u64 my_id = 0, my_place = 0;
  unsigned leaders = 0, repeated = 0;  // ids that are fetched; ids whose next is the same
  // The row at hand.
  u64 item = 0, id = 0, place = 0, row = 0, piece = 0, pieces = 0;
  bool more = false;

  __device__ walker(arguments const& args, u64 warp, u64 warps) : a(args), lane(threadIdx.x % 32), chunk(warp * 32), step(warps * 32) {
    if (chunk < a.count) load();
  }
  __device__ u64 id_at(u64 k) const { return static_cast<u64>(static_cast<Id const*>(a.ids)[k]) >> a.id_shift; }
  __device__ void load() {
    u64 const k = chunk + lane;
    bool const there = k < a.count;
    my_id = there ? id_at(k) : 0;
    my_place = there ? a.place(k) : 0;
    u64 before = __shfl_up_sync(all_lanes, my_id, 1), after = __shfl_down_sync(all_lanes, my_id, 1);
    bool const has_before = k > 0, has_after = k + 1 < a.count;
    if (lane == 0 && there && has_before) before = id_at(k - 1);
    if (lane == 31 && there && has_after) after = id_at(k + 1);
    bool const far = there && my_id >= a.first_far;
    leaders = __ballot_sync(all_lanes, far && (k % bulk_repeats == 0 || before != my_id));
    repeated = __ballot_sync(all_lanes, far && has_after && (k + 1) % bulk_repeats != 0 && after == my_id);
  }
  __device__ bool next() {
    if (++piece < pieces) return true;
    while (leaders == 0) {
      if (chunk >= a.count || a.count - chunk <= step) {
        pieces = piece = 0;
        chunk = a.count;
        return false;
      }
      chunk += step;
      load();
    }
    int const from = __ffs(static_cast<int>(leaders)) - 1;
    leaders &= leaders - 1;
    item = chunk + static_cast<unsigned>(from);
    id = __shfl_sync(all_lanes, my_id, from);
    place = __shfl_sync(all_lanes, my_place, from);
    more = repeated >> from & 1;
    row = a.table + (id - a.first_row) * a.row_bytes;
    pieces = bulk_pieces(row, row + a.row_bytes, a.stage_bytes);
    piece = 0;
    return true;
  }
};

// Bytes [b.from, b.to) from their stage to `to`, by all lanes: words of 4 bytes that begin on 4 there, put together from two here.
__device__ void shift_out(bulk_piece const& b, unsigned char const* stage, u64 to, unsigned lane) {
  auto* const out = reinterpret_cast<unsigned char*>(to);
  // The ends of the table that the engine could not fetch, and what lies before a word begins and after the last one.
  u64 const begin = b.from < b.fetch ? (b.fetch < b.to ? b.fetch : b.to) : b.from,
            end = b.to > b.fetch_end ? (b.fetch_end > begin ? b.fetch_end : begin) : b.to;
  auto const* const far = reinterpret_cast<unsigned char const*>(b.from);
  for (u64 i = lane; i < begin - b.from; i += 32) out[i] = far[i];
  for (u64 i = end - b.from + lane; i < b.to - b.from; i += 32) out[i] = far[i];
  unsigned char* const at = out + (begin - b.from);
  u32 const n = static_cast<u32>(end - begin), offset = static_cast<u32>(begin - b.base);
  u32 head = static_cast<u32>(-reinterpret_cast<u64>(at)) % 4;
  if (head > n) head = n;
  u32 const words = (n - head) / 4, tail = n - head - words * 4;
  if (lane < head) at[lane] = stage[offset + lane];
  if (lane < tail) at[n - tail + lane] = stage[offset + n - tail + lane];
  u32 const first = offset + head, off = first % 4 * 8;
  auto const* const in = reinterpret_cast<u32 const*>(stage + first / 4 * 4);
  auto* const words_out = reinterpret_cast<u32*>(at + head);
  if (off == 0) {
#pragma unroll 4
    for (u32 i = lane; i < words; i += 32) words_out[i] = in[i];
  } else {
    // The second word holds bytes of the first's end; it lies in the stage, since words are 4 bytes long and begin below `n`.
#pragma unroll 4
    for (u32 i = lane; i < words; i += 32) words_out[i] = __funnelshift_r(in[i], in[i + 1], off);
  }
}

template <class Id, bool Whole>
__global__ void __launch_bounds__(512) gather_kernel(arguments const a) {
  extern __shared__ __align__(128) unsigned char memory[];
  constexpr u32 lag = Whole ? 2 : 0;  // pieces that the engine may still be reading; shape_of gives more stages than that
  unsigned const lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  u32 const barriers = shared_address(memory) + warp * 256;
  unsigned char* const ring = memory + warps * 256 + static_cast<std::size_t>(warp) * a.stages * a.stage_bytes;
  if (lane < a.stages) make_barrier(barriers + lane * 8);
  fence_barriers();
  __syncwarp();

  walker<Id> w(a, static_cast<u64>(blockIdx.x) * warps + warp, static_cast<u64>(gridDim.x) * warps);
  // Lane s: what is in stage s.
  u64 in_item = 0, in_id = 0, in_place = 0, in_row = 0;
  u32 in_piece = 0;
  bool in_more = false;
  u32 asked = 0, ask_stage = 0;  // how many pieces; wraps harmlessly
  auto const ask = [&] {
    if (!w.next()) return false;
    bulk_piece const b = bulk_piece_of(w.row, w.row + a.row_bytes, w.piece, a.stage_bytes, a.table, a.table_end);
    if (lane == 0) {
      u32 const bytes = static_cast<u32>(b.fetch_end - b.fetch), barrier = barriers + ask_stage * 8;
      expect(barrier, bytes);  // none: the barrier's phase ends here
      if (bytes) fetch(shared_address(ring) + ask_stage * a.stage_bytes + static_cast<u32>(b.fetch - b.base), b.fetch, bytes, barrier);
    }
    if (lane == ask_stage)
      in_item = w.item, in_id = w.id, in_place = w.place, in_row = w.row, in_piece = static_cast<u32>(w.piece), in_more = w.more;
    ++asked;
    if (++ask_stage == a.stages) ask_stage = 0;
    return true;
  };

  bool more_to_ask = true;
  while (asked < a.stages && more_to_ask) more_to_ask = ask();
  u32 stage = 0, parity = 0;
  for (u32 done = 0; done != asked;) {
    int const from = static_cast<int>(stage);
    u64 const item = __shfl_sync(all_lanes, in_item, from), id = __shfl_sync(all_lanes, in_id, from);
    u64 const place = __shfl_sync(all_lanes, in_place, from), row = __shfl_sync(all_lanes, in_row, from);
    u32 const piece = __shfl_sync(all_lanes, in_piece, from);
    bool const more = __shfl_sync(all_lanes, static_cast<int>(in_more), from);
    bulk_piece const b = bulk_piece_of(row, row + a.row_bytes, piece, a.stage_bytes, a.table, a.table_end);
    unsigned char* const here = ring + static_cast<std::size_t>(stage) * a.stage_bytes;
    while (!arrived(barriers + stage * 8, parity)) {
    }
    auto const put = [&](u64 to_row) {
      u64 const to = to_row + (b.from - row);
      if constexpr (Whole) {
        if (lane == 0) store(to, shared_address(here) + static_cast<u32>(b.from - b.base), static_cast<u32>(b.to - b.from));
      } else {
        shift_out(b, here, to, lane);
      }
    };
    put(place);
    if (more) {  // the same row for those that follow
      for (u64 k = item + 1;;) {
        u64 const mine = k + lane;
        bool const same = mine < a.count && mine % bulk_repeats != 0 && w.id_at(mine) == id;
        u32 const other = ~__ballot_sync(all_lanes, same);
        int const n = other ? __ffs(static_cast<int>(other)) - 1 : 32;
        u64 const my_place = same ? a.place(mine) : 0;
        for (int j = 0; j < n; ++j) put(__shfl_sync(all_lanes, my_place, j));
        if (n < 32) break;
        k += 32;
      }
    }
    if constexpr (Whole) {
      if (lane == 0) end_group(), wait_until_read<static_cast<int>(lag)>();
    } else {
      __syncwarp();
    }
    ++done;
    if (++stage == a.stages) stage = 0, parity ^= 1;
    while (more_to_ask && asked - done + lag < a.stages) more_to_ask = ask();
  }
  if (Whole && lane == 0) wait_until_stored();
}

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, what, device) != cudaSuccess) cudaGetLastError();
  return value;
}

template <class Id, bool Whole>
void launch(executor& x, bulk_shape const& s, arguments const& a) {
  // More than half of what a multiprocessor has, so that each runs one block.
  std::size_t const shared = std::max<std::size_t>(s.shared_bytes(), 118u << 10);
  current_device const here(x.device());
  cudaError_t status =
      cudaFuncSetAttribute(gather_kernel<Id, Whole>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  if (status == cudaSuccess) {
    gather_kernel<Id, Whole><<<s.blocks, s.warps * 32, shared, static_cast<cudaStream_t>(x.stream())>>>(a);
    status = cudaGetLastError();
  }
  if (status != cudaSuccess) {
    cudaGetLastError();
    fail(errc::device, "device {}: a bulk gather could not be started: {}; was this build made for this GPU?", x.device(),
         cudaGetErrorString(status));
  }
}
}  // namespace

bool has_bulk_copies(int device) {
  return device < device::count() && attribute(cudaDevAttrComputeCapabilityMajor, device) >= 9 &&
         attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device) >= 128 << 10;
}

void gather_bulk(executor& x, bulk_rows const& w, bulk_options const& options) {
  if (!has_bulk_copies(x.device()))
    fail(errc::device, "device {} has no bulk copies, which need compute capability 9.0; gather by aligned or naive", x.device());
  auto const room = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, x.device()));
  auto most = static_cast<unsigned>(x.multiprocessors());
  if (x.share_blocks()) most = std::min(most, x.share_blocks());
  bulk_shape const s = shape_of(w, options, most, room);
  auto const table = reinterpret_cast<u64>(w.table);
  arguments const a{table,
                    table + w.rows * w.row_bytes,
                    w.first_row,
                    w.row_bytes,
                    w.count,
                    w.first_far,
                    reinterpret_cast<u64>(w.out),
                    w.ids,
                    w.positions,
                    w.places,
                    w.id_shift,
                    s.stages,
                    s.stage_bytes};
  if (w.id_bytes == 4) s.whole ? launch<u32, true>(x, s, a) : launch<u32, false>(x, s, a);
  else s.whole ? launch<u64, true>(x, s, a) : launch<u64, false>(x, s, a);
}

}  // namespace garner::on_gpu
