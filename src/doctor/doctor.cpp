// The doctor. A check never throws: its error is in its line. The self-test shares no code with what it tests: values of the table are a
// formula of row and column, and depths come from a queue over the original edges.
#include "doctor/doctor.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "comm/nccl.hpp"
#include "core/device.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/gpus_seen.hpp"
#include "garner/algorithms.hpp"
#include "garner/build.hpp"
#include "garner/features.hpp"
#include "garner/memory.hpp"
#include "memory/budget.hpp"
#include "memory/buffer.hpp"
#include "memory/link.hpp"
#include "nn/blas.hpp"
#include "storage/engines.hpp"

namespace garner {

namespace {

constexpr char const* purpose = "the doctor's self-test";
constexpr std::uint64_t table_rows = 4096, table_width = 37, gathered = 10'000;  // rows of 148 bytes: they begin anywhere in a line
constexpr std::uint32_t vertices = 4096, edges_a_vertex = 6;

float value_at(std::uint64_t row, std::uint64_t column) { return static_cast<float>((row * 40'503 + column * 977) % 65'521); }
std::int64_t id_at(std::uint64_t k) { return static_cast<std::int64_t>(k * 2'654'435'761 % table_rows); }

std::vector<float> gather_at(execution_device where) {
  std::vector<float> table(table_rows * table_width);
  for (std::uint64_t i = 0; i < table.size(); ++i) table[i] = value_at(i / table_width, i % table_width);
  std::vector<std::int64_t> ids(gathered);
  for (std::uint64_t k = 0; k < gathered; ++k) ids[k] = id_at(k);
  tiered_options o;
  o.device = where;
  o.feature_cache = table.size() * sizeof(float) / 2;  // one half in device memory, the other read over the link
  row_array rows;
  rows.data = table.data(), rows.rows = table_rows, rows.width = table_width;
  tiered_tensor tensor(rows, o);
  executor x(where);
  buffer<std::int64_t> const at(x.near(), gathered, x.device(), purpose);
  buffer<float> const out(x.near(), gathered * table_width, x.device(), purpose);
  x.copy(at.data(), ids.data(), at.bytes());
  x.wait();
  tensor.gather({at.data(), gathered, sizeof(std::int64_t)}, {out.data(), out.bytes()});
  std::vector<float> got(out.size());
  x.copy(got.data(), out.data(), out.bytes());
  x.wait();
  return got;
}

std::vector<edge> some_edges() {
  std::vector<edge> all;
  for (std::uint32_t v = 1; v < vertices; ++v)
    for (std::uint32_t k = 0; k < edges_a_vertex; ++k) all.push_back({v, (v / 2 + (v * 31 + k * 977) % 64) % vertices});
  return all;
}
std::vector<std::uint32_t> depths_by_queue(std::vector<edge> const& edges, std::uint32_t source) {
  std::vector<std::vector<std::uint32_t>> next(vertices);
  for (edge const& e : edges) {
    next[e.source].push_back(static_cast<std::uint32_t>(e.target));
    next[e.target].push_back(static_cast<std::uint32_t>(e.source));
  }
  std::vector<std::uint32_t> depth(vertices, unreached);
  std::queue<std::uint32_t> open;
  depth[source] = 0;
  for (open.push(source); !open.empty(); open.pop())
    for (std::uint32_t const w : next[open.front()])
      if (depth[w] == unreached) depth[w] = depth[open.front()] + 1, open.push(w);
  return depth;
}

// Runs a check; its error is what was found. `code`: of that.
template <class Check>
bool checked(std::string& found, Check const& check, errc* code = nullptr) {
  try {
    found = as_error(check);
    return true;
  } catch (error const& e) {
    if (e.code() == errc::interrupted) throw;
    found = e.what();
    if (code) *code = e.code();
    return false;
  }
}

doctor_check host_memory_check() {
  host_memory const now = host_memory_now();
  return {"host memory",
          fmt::format("{}, {} available; control group: {}", format_bytes(now.total), format_bytes(now.available),
                      now.group_limit == budget::unlimited
                          ? "no limit"
                          : fmt::format("{} of {} used", format_bytes(now.group_used), format_bytes(now.group_limit))),
          ""};
}
doctor_check pinned_check() {
  ::rlimit lock{};
  ::getrlimit(RLIMIT_MEMLOCK, &lock);
  return {"pinned memory",
          fmt::format("as much as the host has free: the GPU's driver does not count it against `ulimit -l` ({}), which limits io_uring's "
                      "buffers alone",
                      lock.rlim_cur == RLIM_INFINITY ? "unlimited" : format_bytes(lock.rlim_cur)),
          ""};
}
doctor_check shared_memory_check() {
  struct ::statvfs at {};
  if (::statvfs("/dev/shm", &at) != 0)
    return {"/dev/shm", "is not there", "mount a tmpfs at /dev/shm: ranks and workers share tables and graphs through it"};
  std::uint64_t const all = at.f_blocks * at.f_frsize, free = at.f_bavail * at.f_frsize;
  return {"/dev/shm", fmt::format("{}, {} free", format_bytes(all), format_bytes(free)),
          free < std::uint64_t{1} << 30
              ? "ranks and workers share tables and graphs through it; give a container more (docker run --shm-size=16g)"
              : ""};
}
doctor_check uring_check() {
  std::string why;
  if (make_uring_engine({{}}, 8, why)) return {"io_uring", "usable", ""};
  return {"io_uring", "not usable: " + why,
          "threads read feature files instead, with more processor time; use kernel 5.11 or newer, and allow io_uring in Docker's seccomp "
          "profile"};
}
doctor_check nccl_check(int gpus) {
  doctor_check c{"NCCL", "not tried: it needs a GPU", ""};
  if (gpus == 0) return c;
  if (!checked(c.found, [] { return nccl().about(); }) && gpus > 1)
    c.advice = "GPUs without direct access to each other need it: install it, or name its file in GARNER_NCCL";
  return c;
}
doctor_check cublas_check(int device) {
  doctor_check c{"cuBLAS", "not tried: it needs a GPU whose self-test passed", ""};
  if (device < 0) return c;
  if (!checked(c.found, [&] {
        executor x(execution_device{device_kind::cuda, device});
        return blas(x, dense_math::f32).about();
      }))
    c.advice = "training on the GPU needs it: install torch for CUDA, or cuBLAS by pip (nvidia-cublas)";
  return c;
}

doctor_check gpu_check(int device, gpu_build const& build) {
  doctor_check c{fmt::format("GPU {}", device), "", ""};
  device::properties p;
  if (!checked(c.found, [&] {
        p = device::describe(device);
        return fmt::format("{}, compute capability {}.{}, {}", p.name, p.compute_major, p.compute_minor, format_bytes(p.memory_bytes));
      })) {
    c.advice = "check the GPU with nvidia-smi";
  } else if (!has_code(build, p.compute_major, p.compute_minor)) {
    c.found += "; this build has no code for it";
    c.advice =
        fmt::format("this build has code for {}; {}", told_architectures(build), what_helps_without_code(p.compute_major, p.compute_minor));
  } else {
    c.found += "; this build has code for it";
  }
  return c;
}
doctor_check link_check(int device) {
  doctor_check c{fmt::format("link of GPU {}", device), "", ""};
  link_calibration l;
  if (!checked(c.found, [&] {
        l = link_of(device);
        return fmt::format("copies {:.1f} GB/s to the GPU and {:.1f} back; kernels read host memory at {:.1f} GB/s", l.to_device_gbs,
                           l.to_host_gbs, l.zero_copy_gbs);
      }))
    c.advice = "the GPU does not read host memory as it should; keep all data in its memory, or raise the container's memory limit";
  else if (l.to_device_gbs < 6)
    c.advice = "slower than 8 lanes of PCIe 3.0: check the slot (nvidia-smi -q shows link generation and width)";
  return c;
}
// `known`: what helps where something is amiss with this GPU already.
doctor_check self_test_check(execution_device where, planted_fault const& fault, std::string const& known) {
  doctor_check c{"self-test of " + to_string(where), "", ""};
  errc code{};
  if (checked(
          c.found,
          [&] {
            try_place(where, fault);
            return std::string("gathered rows and BFS depths are right");
          },
          &code))
    return c;
  if (!known.empty()) c.advice = known;
  else if (code == errc::memory) c.advice = "free memory of the GPU and of the host, or raise the container's memory limit";
  else if (where.kind == device_kind::cuda)
    c.advice = "do not use this GPU until this is solved (CUDA_VISIBLE_DEVICES leaves it out); check it with nvidia-smi";
  else c.advice = "a defect of Garner or of this machine's memory; please report it";
  return c;
}

}  // namespace

void try_place(execution_device where, planted_fault const& fault) {
  if (where.kind == device_kind::cuda) self_test(where.index);
  std::vector<float> rows = gather_at(where);
  std::vector<edge> const edges = some_edges();
  build_options as_they_are;
  as_they_are.undirected = true;
  std::vector<std::uint32_t> const right = depths_by_queue(edges, 1);
  std::vector<std::optional<tier>> tiers{std::nullopt};
  if (where.kind == device_kind::cuda) tiers = {tier::device, tier::host};
  for (std::optional<tier> const edges_in : tiers) {
    graph_handle g = build_graph({.edges = edges, .vertices = vertices}, as_they_are);
    if (edges_in) g = to_device(std::move(g), where, edges_in);
    bfs_options o;
    o.device = where;
    std::vector<std::uint32_t> depths = bfs(g, 1, o).depth;
    if (fault) fault(where, rows, depths);
    for (std::uint64_t v = 0; v < vertices; ++v)
      if (depths.at(v) != right[v])
        fail(errc::device, "{}: BFS gave vertex {} the depth {} instead of {}", to_string(where), v, depths[v], right[v]);
  }
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    std::uint64_t const row = static_cast<std::uint64_t>(id_at(i / table_width)), column = i % table_width;
    if (rows[i] != value_at(row, column))
      fail(errc::device, "{}: a gather gave row {}, column {} as {} instead of {}", to_string(where), row, column, rows[i],
           value_at(row, column));
  }
}

doctor_report examine_machine(std::optional<execution_device> where, planted_fault const& fault) {
  gpus_seen const seen = see_gpus();
  gpu_build const build = this_build();
  int const gpus = device::count();
  doctor_report r;
  r.checks.push_back({"Garner",
                      fmt::format("{}, {}", version(),
                                  build.toolkit.empty() ? "without GPU support"
                                                        : fmt::format("CUDA {} inside, code for compute capability {}", build.toolkit,
                                                                      told_architectures(build))),
                      ""});
  doctor_check driver{"driver", "no NVIDIA GPU here", ""};
  if (seen.any() || gpus > 0)
    driver.found = fmt::format("{}{}", seen.driver.empty() ? "version not known" : seen.driver,
                               seen.cuda ? fmt::format(", for CUDA {}.{}", seen.cuda / 1000, seen.cuda % 1000 / 10) : "");
  if (seen.any() && gpus == 0) {
    driver.advice = device::why_none();
    r.usable = hides_gpus(seen);  // nothing is amiss with GPUs that are not wanted
    if (r.usable) driver.found += "; " + hidden_by();
  }
  r.checks.push_back(std::move(driver));
  for (int d = 0; d < gpus; ++d) {
    r.checks.push_back(gpu_check(d, build));
    r.usable = r.usable && r.checks.back().advice.empty();
  }
  if (gpus == 0)  // hidden, or not usable
    for (std::size_t k = 0; k < seen.gpus.size(); ++k)
      r.checks.push_back({fmt::format("GPU {}", k),
                          fmt::format("{}, compute capability {}.{}, {}", seen.gpus[k].name, seen.gpus[k].major, seen.gpus[k].minor,
                                      format_bytes(seen.gpus[k].memory_bytes)),
                          ""});
  r.checks.push_back(host_memory_check());
  r.checks.push_back(pinned_check());
  r.checks.push_back(shared_memory_check());
  r.checks.push_back(uring_check());

  std::vector<execution_device> tried;
  if (where) tried.push_back(*where);
  else if (gpus == 0) tried.push_back({});
  else
    for (int d = 0; d < gpus; ++d) tried.push_back({device_kind::cuda, d});
  std::vector<doctor_check> tests;
  int works = -1;  // a GPU that passed
  for (execution_device const at : tried) {
    if (at.kind == device_kind::cuda && at.index >= gpus) {
      doctor_check c{"self-test of " + to_string(at), "not run: this GPU cannot be used", ""};
      checked(c.advice, [&] { return device::require(at.index), std::string(); });
      tests.push_back(std::move(c));
      r.usable = false;
      continue;
    }
    std::string const gpu = fmt::format("GPU {}", at.index);
    auto const known = std::find_if(r.checks.begin(), r.checks.end(), [&](doctor_check const& c) { return c.name == gpu; });
    tests.push_back(self_test_check(at, fault, at.kind == device_kind::cuda && known != r.checks.end() ? known->advice : ""));
    if (!tests.back().advice.empty()) {
      r.usable = false;
    } else if (at.kind == device_kind::cuda) {
      works = works < 0 ? at.index : works;
      tests.push_back(link_check(at.index));
    }
  }
  r.checks.push_back(cublas_check(works));
  r.checks.push_back(nccl_check(gpus));
  std::move(tests.begin(), tests.end(), std::back_inserter(r.checks));
  return r;
}

doctor_report examine_machine(std::optional<execution_device> where) {
  return as_error([&] { return examine_machine(where, {}); });
}

std::string to_text(doctor_report const& report) {
  return as_error([&] {
    std::size_t widest = 0;
    for (doctor_check const& c : report.checks) widest = std::max(widest, c.name.size());
    std::string text;
    for (doctor_check const& c : report.checks) {
      text += fmt::format("{} {:<{}}  {}\n", c.advice.empty() ? ' ' : '!', c.name, widest, c.found);
      if (!c.advice.empty()) text += fmt::format("  {:<{}}  -> {}\n", "", widest, c.advice);
    }
    return text;
  });
}

std::string why_gpu_unusable() {
  return as_error([] {
    gpus_seen const seen = see_gpus();
    gpu_problem const p = problem_of(seen, this_build());
    return p.why.empty() || hides_gpus(seen) ? std::string() : fmt::format("{}, so everything runs on the CPU; {}", p.why, p.helps);
  });
}

}  // namespace garner
