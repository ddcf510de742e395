// Rows that a model learns: a table in the tiers of a feature table (features.hpp), gathered and stepped in place, a row at a time.
// Sources: Duchi et al., JMLR 12, 2011 (Adagrad); Kingma and Ba, ICLR 2015 (Adam), of single rows as torch.optim.SparseAdam has it: only
// rows that have a gradient are touched, and all count the same steps.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/features.hpp"
#include "garner/place.hpp"
#include "garner/stream.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class row_optimiser : std::uint8_t { sgd, adagrad, adam };
std::string_view to_string(row_optimiser how);
row_optimiser parse_row_optimiser(std::string_view text);  // errc::usage with the choices otherwise
enum class first_values : std::uint8_t { normal, uniform, zero };
std::string_view to_string(first_values how);
first_values parse_first_values(std::string_view text);

struct embedding_options {
  place where;  // that gathers and steps
  row_optimiser optimiser = row_optimiser::adam;
  first_values first = first_values::normal;
  double spread = 1;       // of the first values: normal: their standard deviation; uniform: they lie between -spread and spread
  std::uint64_t seed = 1;  // the first values are a function of seed, row and column, the same bits at every place
  // As of tiered_options: bytes of rows (with their state) in the device's memory, the hottest by `scores`; all others lie in host memory,
  // where the device steps them in place. Unset: half of what is free.
  std::optional<std::uint64_t> device_budget;
  std::span<float const> scores = {};  // read by the constructor
};

// Of one step. Unset: as torch's optimisers have it.
struct row_step {
  double rate = 0.01;
  double rate_decay = 0;               // adagrad: step k takes rate / (1 + (k - 1) * rate_decay)
  double beta1 = 0.9, beta2 = 0.999;   // adam
  std::optional<double> epsilon = {};  // unset: adagrad 1e-10, adam 1e-8
  stream_ref stream = {};              // to work on, as of gather_options
};

// What a step did.
struct update_run {
  std::uint64_t rows = 0, far_rows = 0;  // different ones that were stepped; of these, in host memory
  std::uint64_t far_bytes = 0;           // with their state: so many are read over the link, and as many written
  traffic link;                          // simulated: what reading them asks of the link; what is written back are the same bytes
};

// A place has one table; calls from several threads take turns.
class embedding {
 public:
  // errc::memory where a budget or the system refuses, errc::usage for options that cannot be.
  embedding(std::uint64_t rows, std::uint64_t width, embedding_options const& options);
  ~embedding();
  embedding(embedding&&) noexcept;
  embedding& operator=(embedding&&) noexcept;

  std::uint64_t rows() const, width() const;
  std::uint64_t record_bytes() const;  // of a row with its state, rounded up to whole sectors
  row_optimiser optimiser() const;
  place where() const;
  std::uint64_t steps() const;  // done so far
  rows_by_tier tiers() const;
  std::string about() const;

  // f32 rows of ids, as tiered_tensor::gather has it: at the place that gathers; errc::input names an id that is no row and its position.
  gather_run gather(id_span ids, row_output out, stream_ref stream = {});
  // One step: row k of `gradients` (width floats) is of ids[k]. Those of one row are added up in the order of their positions, then each
  // row is read, stepped and written once. Waits until ids and gradients have been looked at: errc::input names an id that is no row and
  // its position, or a row whose gradient is no finite number, and nothing has changed then. A step is whole: Ctrl-C is heard before it.
  update_run update(id_span ids, std::span<float const> gradients, row_step const& options = {});

  // Arrays of the state, as torch's optimisers name them: none of sgd; "sum" of adagrad; "exp_avg", "exp_avg_sq" of adam.
  std::vector<std::string> states() const;
  // Rows [first, first + count) of "weight" or one of states(), to and from host memory.
  void read(std::string_view what, std::uint64_t first, std::uint64_t count, std::span<float> to) const;
  void write(std::string_view what, std::uint64_t first, std::uint64_t count, std::span<float const> from);
  void set_steps(std::uint64_t steps);

  // Everything that decides what comes, in one file (safetensors: weight, then states()), whole or not at all; a few rows at a time. load()
  // takes it bit for bit, wherever its rows lay; errc::input for a table of another shape or optimiser, or a damaged file, before anything
  // has changed.
  void save(std::filesystem::path const& file) const;
  void load(std::filesystem::path const& file);

 private:
  struct impl;
  detail::held<impl> impl_;
};

}  // namespace garner
