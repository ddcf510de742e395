// Trainable embeddings: a table in the tiers of a feature table (features.hpp), gathered and updated in place, row by row.
// Sources: Duchi et al., JMLR 12, 2011 (Adagrad); Kingma and Ba, ICLR 2015 (Adam), for single rows as in torch.optim.SparseAdam: a step
// updates only rows that have a gradient, and all rows share one step count.
#pragma once
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/device.hpp"
#include "garner/features.hpp"
#include "garner/stream.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class row_optimizer : std::uint8_t { sgd, adagrad, adam };
std::string_view to_string(row_optimizer how);
row_optimizer parse_row_optimizer(std::string_view text);  // errc::usage with the choices otherwise
enum class initializer : std::uint8_t { normal, uniform, zero };
std::string_view to_string(initializer how);
initializer parse_initializer(std::string_view text);

struct embedding_options {
  execution_device device;  // the device that gathers and updates
  // Rows are stored as f32, f16 or bf16; the optimizer's state is f32. A step is computed in f32 and rounded once, to the nearest (even).
  element kind = element::f32;
  row_optimizer optimizer = row_optimizer::adam;
  initializer init = initializer::normal;
  double init_scale = 1;   // normal: standard deviation; uniform: values lie between -init_scale and init_scale
  std::uint64_t seed = 1;  // the initial values depend on seed, row and column only; all devices make the same bits
  // As in tiered_options: bytes of rows (with their state) in GPU memory, the hottest by `scores`. All others lie in host memory, where
  // the device updates them in place. Unset: half of the free memory.
  std::optional<std::uint64_t> feature_cache;
  std::span<float const> scores = {};  // read by the constructor
  // Rows and state in this file, which is made if it is not there, else continued. `host_cache`: bytes of them in host memory, where the
  // device gathers and steps them; unset: half of the free memory. `feature_cache` and `scores` are for tables without a file.
  std::filesystem::path file = {};
  std::optional<std::uint64_t> host_cache = {};
};

// Options of one step. Defaults are those of torch's optimizers.
struct sparse_step {
  double learning_rate = 0.01;
  double rate_decay = 0;               // adagrad: step k uses learning_rate / (1 + (k - 1) * rate_decay)
  double beta1 = 0.9, beta2 = 0.999;   // adam
  std::optional<double> epsilon = {};  // unset: adagrad 1e-10, adam 1e-8
  stream_ref stream = {};              // the stream for the work, as in gather_options
};

// Gradients of a step: `size` numbers, f32 or of the table's kind, on the gathering device.
struct gradient_span {
  gradient_span(float const* numbers, std::uint64_t count) : data(numbers), size(count) {}
  template <class All>
  requires std::convertible_to<All const&, std::span<float const>> gradient_span(All const& all)
      : gradient_span(std::span<float const>(all).data(), std::span<float const>(all).size()) {}
  gradient_span(void const* numbers, std::uint64_t count, element as) : data(numbers), size(count), kind(as) {}
  void const* data;
  std::uint64_t size;
  element kind = element::f32;
};

// The result of one step.
struct update_run {
  std::uint64_t rows = 0, remote_rows = 0;  // distinct rows that were updated; of these, rows in host memory
  std::uint64_t remote_bytes = 0;           // with their state: read over the link, and the same number written
  traffic link;                             // simulated: link traffic of the reads; the writes are the same bytes
};

// One table on one device; concurrent calls are serialized. A table in a file is flushed by flush() and at its end; a crash leaves the
// state of the last flush.
class embedding {
 public:
  // errc::memory if a budget or the system refuses; errc::usage for invalid options; errc::input, errc::io: of the file.
  embedding(std::uint64_t rows, std::uint64_t width, embedding_options const& options);
  ~embedding();
  embedding(embedding&&) noexcept;
  embedding& operator=(embedding&&) noexcept;

  std::uint64_t rows() const, width() const;
  std::uint64_t record_bytes() const;  // of a row with its state, rounded up to whole sectors
  row_optimizer optimizer() const;
  element kind() const;
  execution_device device() const;
  std::uint64_t steps() const;  // done so far
  rows_by_tier tiers() const;
  std::string about() const;

  // Rows of ids, of the table's kind, as tiered_tensor::gather, on the gathering device; errc::input names an id outside the table and its
  // position.
  gather_run gather(id_span ids, row_output out, stream_ref stream = {});
  // One step: row k of `gradients` (width numbers) belongs to ids[k]. Gradients of one row are summed in f32, in the order of their
  // positions; each row is then read, updated and written once. Blocks until ids and gradients are checked: errc::input names an id outside
  // the table and its position, or a row with a non-finite gradient, and errc::usage more rows than the host cache of a file holds, and
  // leaves the table unchanged. A step is atomic: Ctrl-C takes effect before it.
  update_run update(id_span ids, gradient_span gradients, sparse_step const& options = {});

  // Arrays of the state, named as in torch's optimizers: sgd: empty; adagrad: "sum"; adam: "exp_avg", "exp_avg_sq".
  std::vector<std::string> states() const;
  // Copies rows [first, first + count) of "weight" or one of states() to or from host memory, as f32.
  void read(std::string_view what, std::uint64_t first, std::uint64_t count, std::span<float> to) const;
  void write(std::string_view what, std::uint64_t first, std::uint64_t count, std::span<float const> from);
  void set_steps(std::uint64_t steps);
  // For a table in a file, which holds the state of now when this returns. errc::io: it holds the one before, and nothing is lost.
  void flush();

  // The complete training state in one file (safetensors: weight in the table's kind, then states()), written atomically, a few rows at a
  // time. load() restores it bit for bit, whatever the tiers of its rows; errc::input for a table of another shape, kind or optimizer, or a
  // damaged file, and nothing has changed then.
  void save(std::filesystem::path const& file) const;
  void load(std::filesystem::path const& file);

 private:
  struct impl;
  detail::held<impl> impl_;
};

}  // namespace garner
