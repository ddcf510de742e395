// From format to format: pipes, properties that a rebuilt graph file keeps, and impossible targets.
#include "graph/convert.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "core/fail.hpp"
#include "folder.hpp"
#include "graph/build.hpp"
#include "graph/container.hpp"

namespace garner {
namespace {

namespace fs = std::filesystem;

struct converting : ::testing::Test, garner::testing::own_folder {};

TEST_F(converting, a_pipe_is_read_once) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "0 1\n1 2\n", 8), 8);
  ::close(ends[1]);
  std::string const in = fmt::format("/dev/fd/{}", ends[0]);
  convert_options how;
  how.read.from = file_format::el;
  convert_plan const plan = plan_conversion(in, at("g.gnr"), how);
  EXPECT_EQ(plan.bytes_needed, 0u);  // not known
  EXPECT_EQ(convert(in, at("g.gnr"), how).info.edges, 2u);
  ::close(ends[0]);
  EXPECT_GT(plan_conversion(file("g.el", "0 1\n1 2\n"), at("g.gnr"), {}).bytes_needed, 0u);
}

TEST_F(converting, a_container_built_again_keeps_its_in_lists) {
  convert_options how;
  how.build.in_edges = true;
  convert(file("g.el", "0 1\n1 2\n5 2\n"), at("g.gnr"), how);
  ASSERT_TRUE(read_header(at("g.gnr")).info.in_edges);
  convert_options wide, compact, undirected;
  wide.build.id_bytes = 8;
  compact.build.numbering = build_options::ids::compact;
  undirected.build.undirected = true;
  for (auto const* const again : {&wide, &compact}) {
    convert_result const r = convert(at("g.gnr"), at("h.gnr"), *again);
    EXPECT_TRUE(r.built);
    EXPECT_TRUE(r.info.in_edges);
    load_options all;
    all.in_edges = true;
    graph const g = load_graph(at("h.gnr"), all);
    EXPECT_EQ(g.in.offsets[3] - g.in.offsets[2], 2u);
    EXPECT_GT(plan_conversion(at("g.gnr"), at("h.gnr"), *again).bytes_needed, 0u);
  }
  EXPECT_FALSE(convert(at("g.gnr"), at("h.gnr"), undirected).info.in_edges);
}

TEST_F(converting, a_target_that_cannot_be_is_told_in_one_line) {
  file("g.el", "0 1\n");
  fs::create_symlink("round.gnr", at("round.gnr"));
  fs::create_directory(at("d.gnr"));
  // Cyclic links replace a folder without x, which root may enter.
  for (fs::path const& out : {at("round.gnr"), at("round.gnr") / "x.gnr", at("d.gnr"), at("none") / "x.gnr",
                              at(std::string(300, 'x') + ".gnr"), fs::path("/dev/null")}) {
    convert_options how;
    how.to = file_format::gnr;
    try {
      plan_conversion(at("g.el"), out, how);
      ADD_FAILURE() << out;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::io);
      EXPECT_THAT(e.what(), ::testing::StartsWith(out.string() + ": "));
    } catch (std::exception const& e) {
      ADD_FAILURE() << e.what();
    }
  }
  try {
    convert_options how;
    how.to = file_format::bel;
    convert(at("g.el"), at("round.gnr") / "x.bel", how);
    ADD_FAILURE();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), errc::io);
  } catch (std::exception const& e) {
    ADD_FAILURE() << e.what();
  }
}

}  // namespace
}  // namespace garner
