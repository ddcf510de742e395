// Gathers rows of a feature table, with the hottest by score cached and the others in host memory; two mini-batches at once.
//   gather_rows [cpu | simulated]      On a GPU, ids and output buffers would be device pointers.
#include <cstdio>
#include <garner/garner.hpp>
#include <vector>

int main(int argc, char** argv) {
  try {
    constexpr std::uint64_t rows = 1000, width = 128;
    std::vector<float> features(rows * width), score(rows);
    for (std::uint64_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i / width);
    for (std::uint64_t k = 0; k < rows; ++k) score[k] = static_cast<float>(k);  // the last rows are the hottest

    garner::tiered_options options;
    options.device = garner::parse_device(argc > 1 ? argv[1] : "cpu");
    options.feature_cache = 100 * width * sizeof(float);
    options.scores = score;
    garner::tiered_tensor table({features.data(), rows, width, garner::element::f32, {}}, options);
    std::printf("%s\n", table.about().c_str());

    std::vector<std::int64_t> const one{999, 3, 500}, two{3, 950};
    std::vector<float> rows_of_one(one.size() * width), rows_of_two(two.size() * width);
    std::vector<garner::id_span> const batches{std::span<std::int64_t const>(one), std::span<std::int64_t const>(two)};
    std::vector<garner::row_output> const places{rows_of_one, rows_of_two};
    garner::gather_run const run = table.gather_many(batches, places);
    std::printf("order %s:", std::string(to_string(run.order)).c_str());
    for (std::size_t k = 0; k < one.size(); ++k) std::printf(" %g", static_cast<double>(rows_of_one[k * width]));
    for (std::size_t k = 0; k < two.size(); ++k) std::printf(" %g", static_cast<double>(rows_of_two[k * width]));
    std::printf("\n");

    std::int64_t const bad[] = {5, -1};
    table.gather(std::span<std::int64_t const>(bad), rows_of_one);  // throws: nothing outside the table is read
  } catch (garner::error const& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}
