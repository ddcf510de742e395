// Loops over trainable rows. A record is a row followed by its optimizer state, so that both cross the link together, each part in whole
// sectors: `part` elements of the row, then nothing (SGD), `part` sums (Adagrad), or `part` pairs of moments (Adam), in f32. Padding behind
// the row's width is 0 and stays so; it is written too, so that no sector is written in part. Invariant: gradients of one row are added by
// ascending position, on every device. Cost of a step: a sort of the ids by 12 bytes each; each distinct record read and written once, its
// gradients read twice.
#pragma once
#include <cstdint>

#include "core/executor.hpp"
#include "features/gather.hpp"
#include "garner/embedding.hpp"

namespace garner {

// Location of records: the first ranks on the device, all others remote. `rows.stride` is that of records, rows.row_bytes of rows alone.
struct record_view {
  row_view rows;
  std::uint64_t width = 0, part = 0;  // elements
  row_optimizer optimizer = row_optimizer::adam;
  element kind = element::f32;  // of the row: f32, f16 or bf16

  static std::uint64_t part_of(std::uint64_t width, element kind) {
    std::uint64_t const sector = 32 / bytes_of(kind);
    return (width + sector - 1) / sector * sector;
  }
  static std::uint64_t record_bytes(std::uint64_t width, row_optimizer how, element kind) {
    std::uint64_t const states = how == row_optimizer::sgd ? 0 : how == row_optimizer::adagrad ? 1 : 2;
    return part_of(width, kind) * (bytes_of(kind) + states * sizeof(float));
  }
  GARNER_HD std::uint64_t row_bytes() const { return part * (kind == element::f32 ? 4 : 2); }  // with its padding: the state is behind it
  // Element c of state 1 or 2, in floats from the begin of the state.
  GARNER_HD std::uint64_t at(std::uint32_t which, std::uint64_t c) const {
    return optimizer == row_optimizer::adam ? 2 * c + (which - 1) : c;
  }
};

// Records [first, first + count) of v as those of the ids from `id` on are before the first step.
void draw_records(executor& x, record_view const& v, std::uint64_t first, std::uint64_t count, std::uint64_t id,
                  embedding_options const& o);
// Copies array `which` (0: rows, then states) of records [first, first + count) to a device block of `width` floats per row, or from one.
void read_records(executor& x, record_view const& v, std::uint32_t which, std::uint64_t first, std::uint64_t count, float* to);
void write_records(executor& x, record_view const& v, std::uint32_t which, std::uint64_t first, std::uint64_t count, float const* from);

// Result of the checks of a step, on the device: initially ~0 and 0.
struct step_findings {
  std::uint64_t bad_id = ~std::uint64_t{0};        // the first position with an invalid id
  std::uint64_t bad_gradient = ~std::uint64_t{0};  // the first entry of the order whose sum of gradients is not finite
  std::uint64_t rows = 0, far_rows = 0;            // different ones
};
struct gradient_rows {
  id_order order;  // sorted, with positions
  std::uint64_t count = 0;
  void const* rows = nullptr;
  element kind = element::f32;  // f32, f16 or bf16
};
void look_at_gradients(executor& x, record_view const& v, gradient_rows const& g, step_findings* found);
// The numbers of a step: what the host computes for the rule of each optimizer.
struct step_numbers {
  float rate, epsilon = 0;
  float first_share = 0, second_share = 0;  // adam: of the gradient in its moments, 1 - beta
};
// Does nothing where something bad was found.
void step_records(executor& x, record_view const& v, gradient_rows const& g, step_numbers const& n, step_findings const* found);

}  // namespace garner
