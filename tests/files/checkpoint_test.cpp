// Checkpoints: round trips, each byte flipped, each truncation, and those of another training.
#include "files/checkpoint.hpp"

#include <gmock/gmock.h>
#include <xxhash.h>

#include <cstring>
#include <limits>

#include "files.hpp"
#include "files/safetensors.hpp"
#include "support.hpp"
#include "write_tensors.hpp"

namespace garner {
namespace {

using garner::testing::error_of;
using garner::testing::full_disk;
using garner::testing::write_tensors;

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using kind = checkpoint::kind;
using floats = std::vector<float>;
using doubles = std::vector<double>;
using ids = std::vector<std::int64_t>;
using words = std::vector<std::uint64_t>;

struct checkpoints : garner::testing::in_a_folder {
  static checkpoint small() {
    checkpoint c;
    c.facts = {{"epoch", "3"}, {"loss", "0.25"}, {"odd \"name\"\n", "W\u00f6rtchen \u2603"}};
    c.made_for = {{"model", "sage 128 256 47"}, {"graph", "kron16.gnr"}, {"seed", "7"}};
    c.arrays = {{"w", {2, 3}, floats{1, -2, 3, 0.5f, 1e-40f, -0.0f}},
                {"losses", {2}, doubles{0.75, 0.25}},
                {"order", {3}, ids{-1, 0, std::numeric_limits<std::int64_t>::max()}},
                {"random", {}, words{~0ull}},
                {"none", {0, 4}, floats{}}};
    return c;
  }
  std::string refused(kind wanted = kind::checkpoint) const {
    errc code{};
    std::string said = error_of([&] { checkpoint::read(at("x"), wanted); }, &code);
    EXPECT_EQ(code, errc::input) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    EXPECT_THAT(said, StartsWith(at("x").string() + ": "));
    return said.substr(std::min(said.size(), at("x").string().size() + 2));
  }
  // Tensors with metadata that are not a checkpoint of Garner's.
  std::string refused(file_metadata const& metadata, std::vector<file_tensor> const& tensors = {}) const {
    write_tensors(at("x"), tensors, metadata);
    return refused();
  }
};

TEST_F(checkpoints, there_and_back) {
  checkpoint const c = small();
  c.write(at("x"));
  checkpoint const r = checkpoint::read(at("x"), kind::checkpoint);
  EXPECT_EQ(r.is, kind::checkpoint);
  EXPECT_EQ(r.file, at("x").string());
  EXPECT_EQ(r.facts, c.facts);
  EXPECT_EQ(r.made_for, c.made_for);
  EXPECT_EQ(r.arrays.size(), c.arrays.size());
  floats const& w = r.values<float>("w", {2, 3});
  EXPECT_EQ(std::memcmp(w.data(), std::get<floats>(c.arrays[0].values).data(), 24), 0);  // bit by bit
  EXPECT_EQ(r.values<double>("losses", {2}), std::get<doubles>(c.arrays[1].values));
  EXPECT_EQ(r.values<std::int64_t>("order", {3}), std::get<ids>(c.arrays[2].values));
  EXPECT_EQ(r.values<std::uint64_t>("random", {}), std::get<words>(c.arrays[3].values));
  EXPECT_EQ(r.values<float>("none", {0, 4}), floats{});
  EXPECT_EQ(r.fact("loss"), "0.25");

  // The same content gives the same bytes, after any round trip.
  r.write(at("y"));
  EXPECT_EQ(bytes_of("x"), bytes_of("y"));
}

TEST_F(checkpoints, with_nothing_in_them) {
  checkpoint().write(at("x"));
  checkpoint const r = checkpoint::read(at("x"), kind::checkpoint);
  EXPECT_TRUE(r.arrays.empty() && r.facts.empty() && r.made_for.empty());
}

// Any safetensors reader can open the file; docs/reference/file-formats.md specifies its metadata.
TEST_F(checkpoints, are_files_of_tensors) {
  small().write(at("x"));
  tensor_file const in(at("x"));
  file_metadata metadata = in.metadata();
  std::string const checksum = metadata["garner.checksum"];
  EXPECT_EQ(checksum.size(), 16u);
  metadata.erase("garner.checksum");
  EXPECT_EQ(metadata, (file_metadata{{"epoch", "3"},
                                     {"loss", "0.25"},
                                     {"odd \"name\"\n", "W\u00f6rtchen \u2603"},
                                     {"garner.kind", "garner checkpoint"},
                                     {"garner.version", "1"},
                                     {"garner.made_for.model", "sage 128 256 47"},
                                     {"garner.made_for.graph", "kron16.gnr"},
                                     {"garner.made_for.seed", "7"}}));
  EXPECT_EQ(in.find("w")->dtype, "F32");
  EXPECT_EQ(in.find("random")->dtype, "U64");
}

// By docs/reference/file-formats.md: of the whole file with zeros in its place.
TEST_F(checkpoints, whose_checksum_is_as_told) {
  small().write(at("x"));
  std::string bytes = bytes_of();
  std::string const key = "\"garner.checksum\":\"";
  std::size_t const at = bytes.find(key) + key.size();
  std::string const said = bytes.substr(at, 16);
  bytes.replace(at, 16, 16, '0');
  EXPECT_EQ(said, fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size())));
}

TEST_F(checkpoints, each_flipped_bit_is_found) {
  small().write(at("x"));
  std::string const whole = bytes_of();
  ASSERT_LT(whole.size(), 2000u);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    put(damaged);
    refused();
    damaged[i] = static_cast<char>(whole[i] ^ 0x20);  // a letter's case, a blank
    put(damaged);
    refused();
  }
  put(whole);
  checkpoint::read(at("x"), kind::checkpoint);
}

TEST_F(checkpoints, each_length_but_the_whole_is_refused) {
  small().write(at("x"));
  std::string const whole = bytes_of();
  for (std::size_t n = 0; n < whole.size(); ++n) put(whole.substr(0, n)), refused();
  put(whole + " "), refused();
}

// Equal JSON in other text is not the same file.
TEST_F(checkpoints, a_rewritten_header_is_found) {
  small().write(at("x"));
  std::string bytes = bytes_of();
  std::size_t const end = bytes.rfind("}}");
  ASSERT_EQ(bytes[end + 2], ' ');
  bytes[end + 2] = '\n';
  put(bytes);
  EXPECT_THAT(refused(), EndsWith(": it is damaged; take another copy or an older one"));
}

TEST_F(checkpoints, of_another_kind_or_version) {
  checkpoint c = small();
  c.is = kind::model;
  c.write(at("x"));
  EXPECT_EQ(checkpoint::read(at("x"), kind::model).is, kind::model);
  EXPECT_EQ(refused(), "is a garner model and no garner checkpoint; name one");
  c.is = kind::checkpoint;
  c.write(at("x"));
  EXPECT_EQ(refused(kind::model), "is a garner checkpoint and no garner model; name one");

  EXPECT_EQ(refused(file_metadata{}), "its metadata lack garner.kind, so Garner did not write it; name a garner checkpoint that it wrote");
  EXPECT_THAT(refused({{"garner.kind", "x"}}), HasSubstr("metadata lack garner.kind"));
  file_metadata said{{"garner.kind", "garner checkpoint"}};
  EXPECT_EQ(refused(said), "is of version '', and this Garner reads 1; read it with the Garner that wrote it");
  said["garner.version"] = "2";
  EXPECT_EQ(refused(said), "is of version '2', and this Garner reads 1; read it with the Garner that wrote it");
  said["garner.version"] = "1";
  EXPECT_THAT(refused(said), StartsWith("its checksum is '', and that of its content "));
  std::uint8_t const byte = 1;
  EXPECT_THAT(refused(said, {{"t", "U8", {1}, &byte}}),
              StartsWith("array 't' is of U8, and a garner checkpoint has F32, F64, I64 and U64"));
}

TEST_F(checkpoints, made_for_something_else) {
  small().write(at("x"));
  checkpoint const c = checkpoint::read(at("x"), kind::checkpoint);
  auto wanted = c.made_for;
  c.require_made_for(wanted);
  errc code{};
  auto const said = [&] {
    std::string const all = error_of([&] { c.require_made_for(wanted); }, &code);
    EXPECT_EQ(code, errc::input);
    EXPECT_THAT(all, StartsWith(at("x").string() + ": was made for another "));
    EXPECT_THAT(all, EndsWith("; use what it was made for, or begin without it"));
    return all;
  };
  wanted["model"] = "gcn 128 256 47";
  EXPECT_THAT(said(), HasSubstr("another 'model': expected 'gcn 128 256 47', found 'sage 128 256 47'; use"));
  wanted["graph"] = "kron17.gnr";
  EXPECT_THAT(said(), HasSubstr("another 'graph': expected 'kron17.gnr', found 'kron16.gnr'; other too: 'model'; use"));
  wanted = c.made_for;
  wanted["fanout"] = "10,10";
  EXPECT_THAT(said(), HasSubstr("another 'fanout': expected '10,10', found nothing; use"));
  wanted = c.made_for;
  wanted.erase("seed");
  EXPECT_THAT(said(), HasSubstr("another 'seed': expected nothing, found '7'; use"));
  // A missing and an empty text differ; so do texts whose difference is invisible in messages.
  wanted["seed"] = "";
  EXPECT_THAT(said(), HasSubstr("another 'seed': expected '', found '7'; use"));
  checkpoint d;
  d.made_for["x"] = std::string(200, 'a') + "b";
  EXPECT_THROW(d.require_made_for({{"x", std::string(200, 'a') + "c"}}), error);
}

TEST_F(checkpoints, that_lack_what_is_asked) {
  checkpoint const c = small();
  errc code{};
  EXPECT_EQ(error_of([&] { c.fact("lr"); }, &code), "a checkpoint: lacks 'lr'; name a file that has it");
  EXPECT_EQ(code, errc::input);
  EXPECT_EQ(error_of([&] { c.values<float>("v", {3}); }, &code),
            "a checkpoint: has no array 'v', which is to be F32 [3]; name a file that has it");
  EXPECT_EQ(code, errc::input);
  EXPECT_EQ(error_of(
                [&] {
                  c.values<float>("w", {3, 2});
                },
                &code),
            "a checkpoint: array 'w': expected F32 [3, 2], found F32 [2, 3]; name a file of the same model");
  EXPECT_EQ(code, errc::input);
  EXPECT_EQ(error_of([&] {
              c.values<double>("w", {2, 3});
            }),
            "a checkpoint: array 'w': expected F64 [2, 3], found F32 [2, 3]; name a file of the same model");
  EXPECT_THAT(error_of([&] { c.values<std::int64_t>("random", {}); }), HasSubstr("expected I64 [], found U64 []"));
}

TEST_F(checkpoints, that_cannot_be_written) {
  errc code{};
  auto const said = [&](checkpoint const& c) {
    std::string const why = error_of([&] { c.write(at("x")); }, &code);
    EXPECT_EQ(code, errc::usage) << why;
    return why;
  };
  checkpoint c;
  c.arrays = {{"w", {2, 2}, floats{1, 2, 3}}};
  EXPECT_THAT(said(c), HasSubstr("x: array 'w': has 3 elements, and F32 [2, 2] has not; give it its shape"));
  c.arrays = {{"w", {1ull << 63, 2}, floats{}}};
  EXPECT_THAT(said(c), HasSubstr("x: array 'w': has 0 elements"));
  c.arrays = {{"w", {1}, floats{1}}, {"w", {1}, ids{1}}};
  EXPECT_THAT(said(c), HasSubstr("x: tensor 'w': two are called so"));
  c.arrays.clear();
  c.facts["garner.kind"] = "mine";
  EXPECT_THAT(said(c), HasSubstr("x: fact 'garner.kind': names that begin with 'garner.' are taken; name it otherwise"));
  EXPECT_EQ(files(), 0);
}

TEST_F(checkpoints, a_full_disk_leaves_the_old_one) {
  small().write(at("x"));
  std::string const old = bytes_of();
  checkpoint c = small();
  c.arrays.push_back({"many", {1 << 20}, floats(1 << 20, 1.5f)});
  errc code{};
  std::string why;
  {
    full_disk const full(1u << 20);
    why = error_of([&] { c.write(at("x")); }, &code);
  }
  EXPECT_EQ(code, errc::io);
  EXPECT_THAT(why, HasSubstr("x: writing failed at byte 1048576"));
  EXPECT_TRUE(bytes_of() == old);
  EXPECT_EQ(files(), 1);
}

TEST_F(checkpoints, an_interrupt_leaves_the_old_one) {
  checkpoint c = small();
  c.write(at("x"));
  std::string const old = bytes_of();
  c.facts["epoch"] = "4";
  std::uint64_t checks = 0;
  for (bool done = false; !done; ++checks) {
    ASSERT_LT(checks, 1000u);
    request_interrupt_after(checks);
    try {
      c.write(at("x"));
      done = true;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::interrupted);
      EXPECT_TRUE(bytes_of() == old);
    }
    clear_interrupt();
    EXPECT_EQ(files(), 1);
  }
  EXPECT_GT(checks, 5u);
  EXPECT_EQ(checkpoint::read(at("x"), kind::checkpoint).fact("epoch"), "4");
  request_interrupt();
  EXPECT_THROW(checkpoint::read(at("x"), kind::checkpoint), error);
}

}  // namespace
}  // namespace garner
