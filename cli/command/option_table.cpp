// The vocabulary of the program: every option of every verb, once.
#include <algorithm>
#include <array>

#include "common.hpp"

namespace garner::cli {

namespace {

using enum option_group;

constexpr option_row common_rows[] = {
    // --- by position ---
    {"FILE", "", basic, "a graph file (.gnr; convert other formats first), or a graph made in memory: kron:20, uniform:20, web:20:32"},
    {"IN", "", basic,
     "file to read: .el .wel .csv .txt .tsv .edgelist .edges .mtx .gr .col .graph .sg .wsg .bel .v .e .npy .npz .gnr, all but .npy, .npz "
     "and .gnr also with .gz or .zst; the folder of a data set; a feature table (.npy, .gnt) for a .gnt; or kron:20 and so on; - is "
     "standard input (with --from)"},
    {"OUT", "", basic,
     "file to write: .gnr .el .wel .mtx .graph .sg .wsg .bel, all but .gnr also with .gz or .zst; a dataset file (.json) for a folder; "
     ".gnt for a feature table (.npy), and back; - is standard output (with --to)"},
    {"KIND", "", basic, "kron (R-MAT as in Graph500), uniform, or web (local links, pages of high degree)"},
    {"VERB", "", basic, "the verb (default: print which verbs write JSON)"},

    // --- where a traversal starts ---
    {"--source", "V", basic, "vertex to start from, by the user's id (default: a random one)"},
    {"--sources", "FILE", basic, "file with one source per line"},
    {"--max-depth", "N", basic, "vertices farther from the source stay unreached (default: none is too far)"},
    {"--trials", "N", basic, "number of timed runs"},
    {"--seed", "N", basic, "random seed"},
    {"--save-sources", "FILE", advanced, "file to write the sources to, one per line"},

    // --- where it runs, where its data are ---
    {"--device", "DEVICE", basic, "cpu, cuda, cuda:N, or simulated: a simulated GPU, which counts memory requests"},
    {"--tier", "TIER", basic,
     "memory tier of the edges: automatic, host, device, peer (another GPU), managed, or file: they stay on disk and are read on demand "
     "(default: automatic: device if they fit, else host)"},
    {"--access", "ACCESS", paper,
     "how GPU threads read an adjacency list: strided, merged, aligned, paged, copied (default: paged with --tier managed, else aligned)"},
    {"--l2-bytes", "BYTES", paper, "size of the simulated L2 cache in front of the link, as 50MiB (default: none)"},
    {"--graph-cache", "BYTES", basic,
     "GPU memory that caches remote adjacency, as 800MiB (default: a tenth of the edge list, if there is room)"},
    {"--memory-limit", "BYTES", basic, "limit of host memory, as 8GiB (default: what the machine has)"},
    {"--scratch", "FOLDER", basic,
     "folder on a disk with free space: for sorting a graph that is larger than --memory-limit (default: that of OUT), or for activations "
     "of train --full"},
    {"--device-memory", "BYTES", basic, "limit of GPU memory, as 8GiB (default: what is free)"},

    // --- how it searches ---
    {"--variant", "VARIANT", advanced, "variant of the algorithm (default: the algorithm's own)"},
    {"--algorithm", "ALGORITHM", basic, "bfs, sssp, components or pagerank"},
    {"--cached-neighbors", "N", advanced,
     "with --variant direction: 0 to 4 highest-degree neighbors per vertex are cached in GPU memory and checked first; built at the start, "
     "or read from the file (default: as many as --graph-cache allows)"},
    {"--join", "", paper, "adjacent lists of the frontier are read as one (default: with --access aligned)"},
    {"--slice", "N", paper, "edges of a long adjacency list that one group of GPU threads takes"},
    {"--first-neighbors", "N", advanced, "edges per vertex that afforest links before the rest"},
    {"--delta", "X", advanced, "width of a distance bucket (default: from weights and degrees)"},
    {"--vertices-per-team", "N", paper, "adjacency lists that one group of GPU threads reads in turn; EMOGI's fastest program takes 8"},
    {"--no-split", "", paper, "one group of GPU threads reads a whole long adjacency list"},
    {"--no-join", "", paper, "each adjacency list is read by itself, as EMOGI does"},
    {"--no-queue", "", paper, "levels of few vertices take one launch each, as all others do"},
    {"--damping", "D", basic, "damping factor: the probability to follow an edge"},
    {"--tolerance", "T", basic, "stops at this L1 change per iteration"},
    {"--iterations", "N", basic, "exact number of iterations"},
    {"--by-degree", "YES", basic, "yes: copy local adjacency in order of degree, for cache locality; or no (default: if it pays and fits)"},
    {"--dangling", "WHAT", basic, "rank of vertices without out-edges: redistribute (default) or drop"},
    {"--personalization", "FILE", basic, "vertices to jump to: a file of vertex ids, each with an optional weight of at least 0"},

    // --- what comes out ---
    {"--verify", "", basic, "check the result against the graph"},
    {"--out", "FILE", basic, "file to write"},
    {"-o,--out", "FILE", basic, "file to write"},
    {"--format", "FORMAT", basic, "format of that file: text, tsv, npy or ldbc (default: by its ending, .tsv or .npy, else text)"},
    {"--levels", "", advanced, "one line per level even for many sources"},
    {"--rounds", "", advanced, "one line per round"},
    {"--json", "", basic, "print one JSON object"},
    {"--no-check", "", advanced, "do not verify the checksums of the graph file"},
    {"--check", "", basic, "check every byte of the file, not only what the figures need"},
    {"--quiet", "", basic, "no progress bar"},
    {"--stats", "", advanced, "phases, counters and peak memory on stderr at the end"},

    // --- graphs made and changed ---
    {"--scale", "N", basic, "2^SCALE vertices"},
    {"--edge-factor", "N", basic, "edges generated per vertex"},
    {"--from", "FORMAT", basic, "format of IN, whatever its ending: el, wel, csv, snap, mtx, gr, metis, sg, wsg, bel, ldbc, npy, npz, gnr"},
    {"--to", "FORMAT", basic, "format of OUT, whatever its ending: gnr, el, wel, mtx, metis, sg, wsg, bel"},
    {"--stripe", "LIST", basic, "features to .gnt: stripe them over these folders, best on separate drives, as /d0,/d1"},
    {"--page-bytes", "N", advanced, "features to .gnt: bytes that are read and checked at once, a power of two from 512 to 1048576"},
    {"--undirected", "", basic, "each edge goes both ways (default: as the format says, else directed)"},
    {"--directed", "", basic, "each edge goes one way"},
    {"--in-edges", "", basic, "store both directions (CSR, CSC) of a directed graph"},
    {"--keep-duplicates", "", basic, "keep parallel edges (default: the one with the smallest weight stays)"},
    {"--keep-loops", "", basic, "keep edges from a vertex to itself (default: they are dropped)"},
    {"--compact", "", basic, "number the vertices that occur 0, 1, ...; a map keeps their ids, if these leave gaps"},
    {"--keep-ids", "", basic, "keep ids however sparse; gaps become isolated vertices"},
    {"--allow-empty", "", basic, "accept a file without vertices (default: it is an error, since a failed download looks like it)"},
    {"--columns", "LIST", basic,
     "columns of source, target and optional weight in text with more columns, by name or number, as src,dst,weight or 1,2,4"},
    {"--src", "COLUMN", basic,
     "of a table of edges (Parquet, Arrow, CSV, TSV; a pattern in quotes): its column of sources, by name or from 0"},
    {"--dst", "COLUMN", basic, "its column of targets"},
    {"--weight", "COLUMN", basic, "its column of weights"},
    {"--renumber", "", basic, "number any ids 0, 1, ... in the order of their first appearance, as strings always are"},
    {"--names", "FILE", basic, "of ids that were renumbered: row k for vertex k, .parquet or .npy (default: OUT with .names.parquet)"},
    {"--node-features", "LIST", basic,
     "of tables of several types: TYPE=FILE with a row per node; where nodes have names, TYPE=FILE:COLUMN_OF_NAMES:COLUMN_OF_ROWS"},
    {"--node-labels", "LIST", basic, "the same, labels"},
    {"--skip-lines", "N", basic, "lines of text to skip: some files open with a line of counts"},
    {"--split", "WHICH", basic, "of a folder with several splits: the folder in split/ with the training nodes"},
    {"--id-bytes", "N", advanced, "bytes per vertex id in the edge list, 4 or 8 (default: 4 if they fit)"},
    {"--ignore-weights", "", basic, "read the edges without weights"},
    {"--random-weights", "LOW:HIGH", basic, "random integer weights from LOW:HIGH, as 1:255"},
    {"--random-weights-f32", "LOW:HIGH", basic, "random real weights from LOW:HIGH, as 0:1"},
    {"--weight-seed", "N", basic, "random seed of the weights; an edge has the same weight both ways"},
    {"--compress", "", basic, "compress adjacency and weights; all algorithms run on compressed adjacency with the same results"},
    {"--decompress", "", basic, "write the compressed adjacency of a graph file plain"},
    {"--keep-cached-neighbors", "N", advanced,
     "store 1 to 4 highest-degree neighbors per vertex in the graph file, so that algorithms do not search them (default: as many as fit "
     "a tenth of the edge list)"},
    {"--no-cached-neighbors", "", basic, "store no such neighbors; the graph file is smaller by 4 to 16 bytes per vertex"},
    {"--file", "FILE", basic, "keep the graph file under this name (default: a temporary file)"},

    // --- orders, scores, samples ---
    {"--by", "WHAT", basic, "criterion"},
    {"--score", "SCORE", basic,
     "with --by score: degree, rpr, wrpr, expected, sampled (see garner score; default: expected), or an .npy file by ascending id"},
    {"--features-out", "FILE", basic, "where the reordered features go (default: in place)"},
    {"--map", "FILE", advanced,
     "file to write (.npy, int64): for each position in the new order the rank of its vertex among the ascending ids; row k of the new "
     "features is row map[k] of the old"},
    {"--train", "WHICH", basic, "training nodes: a share of all, as 1%, or a file of node ids"},
    {"--fanout", "LIST", basic, "neighbors sampled per node, for each of 1 to 6 hops"},
    {"--rule", "RULE", basic, "nodes that sample at a hop: all so far (as DGL), or those that the last hop reached (as PyG)"},
    {"--batch", "N", basic, "training nodes per mini-batch"},
    {"--share", "SHARE", basic, "training nodes: a random share of those with neighbors"},
    {"--side", "SIDE", basic, "neighbors to sample: in (sources of in-edges) or out"},
    {"--replace", "", basic, "sample neighbors with replacement"},
    {"--disjoint", "", basic, "one tree per training node: nodes of different trees are different ones"},
    {"--weighted", "", basic, "sample neighbors in proportion to edge weights"},
    {"--labor", "", basic, "nodes of a mini-batch share sampled neighbors if they can (LABOR-0), so that fewer features are read"},
    {"--edge-ids", "", basic, "also return the position of each edge in the adjacency"},
    {"--batches", "N", basic, "stop after this many mini-batches"},
    {"--presample", "N", advanced, "epochs sampled in advance, with their own seed"},
    {"--epochs", "N", basic, "passes over the training set, shuffled each time"},

    // --- features ---
    {"--features", "FILE", basic, "feature table (.npy, one row per node by ascending id)"},
    {"--width", "N", basic, "without --features: generate feature rows of this many f32 in memory"},
    {"--labels", "FILE", basic, "label table (.npy): each mini-batch gets the rows of its training nodes"},
    {"--feature-tier", "TIER", basic, "memory tier of features that are not cached: host, or file (default: host; of a .gnt file)"},
    {"--host-cache", "BYTES", basic,
     "with --feature-tier file: host memory for features, as 8GiB, or a share of all, as 10% (default: half of what is free)"},
    {"--file-cache", "BYTES", basic,
     "part of --host-cache that holds features as they are read from the file, as 1GiB (default: a quarter); the rest is filled by score"},
    {"--drive-reads", "N", basic,
     "with --feature-tier file: reads per second of its drive (default: measured, for files of 64 MiB or more)"},
    {"--cache-policy", "POLICY", basic, "which features of the file stay cached: next-use or pinned (by score)"},
    {"--feature-cache", "BYTES", basic,
     "GPU memory that caches features, as 8GiB, or a share of all, as 10% (default: what fits the GPU; simulated: 0)"},
    {"--local-bytes", "BYTES", advanced, "limit of GPU memory for one part, as 8GiB; larger work is split (default: what is free)"},
    {"--strategy", "STRATEGY", basic,
     "how features arrive: window (remote features of several mini-batches at once, deduplicated), tiered, or automatic"},
    {"--window", "N", basic,
     "prefetch window: mini-batches whose remote features are fetched together, 1 to 64 (default: 8 to 32, in a quarter of free memory)"},
    {"--prefetch", "N", basic, "mini-batches that are ready in advance, 1 to 64"},
    {"--window-bytes", "BYTES", advanced, "limit of the features in a prefetch window (default: a quarter of what is free)"},
    {"--multiprocessors", "N", advanced, "multiprocessors of the GPU that fetch remote features; 0: all"},
    {"--compute-ms", "X", basic, "emulate a model that takes this many ms per mini-batch: a busy kernel on a GPU, sleep elsewhere"},
    {"--state", "FILE", basic, "file for the state of the loader at the end"},
    {"--resume", "FILE", basic, "continue from this state file"},

    // --- models ---
    {"--model", "MODEL", basic, "gcn, sage or gin"},
    {"--full", "", basic, "full-graph training: every step uses the whole graph"},
    {"--no-cuda-graphs", "", advanced, "with --full: launch the kernels of a step one by one, not as a captured CUDA graph; the same bits"},
    {"--layers", "N", basic, "number of layers (default: one per fanout; with --full 2)"},
    {"--hidden", "N", basic, "hidden units per layer"},
    {"--dropout", "P", basic, "dropout probability of a layer's input (default: 0.5, or 0.2 with residual and layer norm)"},
    {"--input-dropout", "P", advanced,
     "dropout probability of the features (default: as --dropout for gcn and sage without --residual, else 0)"},
    {"--lr", "X", basic, "learning rate of Adam"},
    {"--weight-decay", "X", basic, "L2 weight decay (default: 5e-4, or 0.5 over the number of training nodes)"},
    {"--norm", "NORM", basic,
     "between layers: none, layer, or automatic: layer for gin; with 1,000 training nodes or more layer and --residual for all models"},
    {"--residual", "", basic, "residual connections"},
    {"--scaling", "HOW", basic, "feature normalization: none, sum (L1 per row), length (L2 per row), or automatic: by the values"},
    {"--classes", "N", advanced, "number of classes (default: the highest label plus one)"},
    {"--classes-only", "", basic, "write the predicted class per node, not the scores"},
    {"--embeddings", "FILE", basic, "also write the rows before the classes (.npy, .gnt)"},
    {"--evaluate-every", "N", basic, "epochs between exact evaluations; 0: at the end only"},
    {"--patience", "N", basic,
     "stop after this many evaluations without a lower validation loss; 0: never (default: see --epochs; 0 if that is set)"},
    {"--checkpoint", "FILE", basic, "checkpoint file, written after each epoch and on interrupt"},
    {"--target", "TYPE", basic, "target node type of a dataset with several types (default: the one with labels and training nodes)"},
    {"--devices", "LIST", basic,
     "GPUs for data-parallel training, as 0,1; --batch is per GPU; with --full each GPU takes one shard of the graph"},
    {"--ranks", "N", basic, "data-parallel training by this many threads on one device"},
    {"--group", "NAME", basic,
     "process group: processes with the same name train together; RANK, WORLD_SIZE and LOCAL_RANK are set in the environment (torchrun)"},
    {"--shards", "N", basic, "parts of the graph, one thread each on one device; train: with --full; with --group one process each"},
    {"--shard-strategy", "STRATEGY", advanced,
     "how features of other shards arrive: bulk, collective, or auto, which measures and reports why (default: auto)"},
    {"--shard-timeout", "SECONDS", advanced,
     "a shard that is silent for so long has timed out: all others end with its name (default: 300)"},
    {"--shard-reduction", "HOW", advanced, "deterministic: the same bits for any number of shards; or fast (default: deterministic)"},
    {"--shard-dtype", "DTYPE", advanced, "type of features on the wire between shards: f32, or bf16 or f16, summed in f32 (default: f32)"},
    {"--shard-transport", "NAME", advanced,
     "transport between shards: peer (GPU memory), nccl, nvshmem, host (host memory), or automatic: the first of peer, nccl and host that "
     "all shards have"},
    {"--shard-adjacency", "HOW", advanced,
     "plain (default), or compressed: less memory and, with --tier host, less link traffic; decompressed in every aggregation"},
    {"--shard-features", "WHERE", advanced,
     "local: gathered once (default), or tiered: they stay in host memory or a file and are read a block at a time, twice per step; for "
     "models with a GEMM before the aggregation, or with --activations host"},
    {"--activations", "WHERE", basic,
     "with --full, where activations stay until the backward pass: device, host (memory), file (with --scratch), or automatic: host if the "
     "device is too small, file if host memory is too (with --group: device)"},
    {"--shard-balance", "OF", advanced, "balance shards by edges or vertices (default: edges)"},
    {"--mgg", "PS,DIST,WPB", paper,
     "with --shard-strategy mgg: neighbors per partition, partition pairs per warp, warps per block (default: 16,1,4)"},
    {"--gemm", "PRECISION", advanced, "precision of GEMMs on a GPU: f32, tf32 or bf16"},

    // --- machine and figures ---
    {"--measure", "", basic, "measure the links again (default: use cached results)"},
    {"--quick", "", basic, "measure only random reads of a table of 1 GiB (default: up to 16 GiB, and managed memory)"},
    {"--drives", "LIST", basic,
     "also measure reads of these files, block devices, or folders (with a temporary file of 1 GiB, if there is room), as /data,/mnt/x"},
};

struct option_values {
  std::string_view name, users, papers = "";
};
constexpr option_values values[] = {
    {"KIND", "kron uniform web"},
    {"--device", "cpu cuda simulated"},
    {"--tier", "automatic host device peer managed file"},
    {"--access", "strided merged aligned paged copied"},
    {"--algorithm", "bfs sssp components pagerank"},
    {"--by-degree", "yes no"},
    {"--dangling", "redistribute drop"},
    {"--format", "text tsv npy ldbc"},
    {"--from", "el wel csv snap mtx gr metis sg wsg bel ldbc npy npz gnr"},
    {"--to", "gnr el wel mtx metis sg wsg bel"},
    {"--id-bytes", "4 8"},
    {"--score", "degree rpr wrpr expected sampled"},
    {"--rule", "all last"},
    {"--side", "in out"},
    {"--feature-tier", "host file"},
    {"--cache-policy", "next-use pinned"},
    {"--strategy", "automatic window tiered", "zero_copy staged"},
    {"--model", "gcn sage gin"},
    {"--norm", "none layer automatic"},
    {"--scaling", "none sum length automatic"},
    {"--gemm", "f32 tf32 bf16"},
    {"--shard-strategy", "auto bulk collective", "mgg"},
    {"--shard-reduction", "deterministic fast"},
    {"--shard-dtype", "f32 bf16 f16"},
    {"--shard-transport", "peer nccl nvshmem host automatic"},
    {"--shard-adjacency", "plain compressed"},
    {"--shard-features", "local tiered"},
    {"--shard-balance", "edges vertices"},
};

// Where an old name has two new ones, a verb takes the one that it has.
constexpr old_name were_options[] = {
    {"--place", "--device"},
    {"--device-budget", "--graph-cache"},
    {"--keep-lists", "--graph-cache"},
    {"--budget", "--feature-cache"},
    {"--rows", "--feature-tier"},
    {"--host-rows", "--host-cache"},
    {"--cache", "--cache-policy"},
    {"--way", "--strategy"},
    {"--ahead", "--prefetch"},
    {"--near-bytes", "--local-bytes"},
    {"--job", "--algorithm"},
    {"--cached-neighbours", "--cached-neighbors"},
    {"--hints", "--cached-neighbors"},
    {"--keep-cached-neighbours", "--keep-cached-neighbors"},
    {"--keep-hints", "--keep-cached-neighbors"},
    {"--no-cached-neighbours", "--no-cached-neighbors"},
    {"--first-neighbours", "--first-neighbors"},
    {"--in-lists", "--in-edges"},
    {"--weights", "--random-weights"},
    {"--weights-f32", "--random-weights-f32"},
    {"--unpack", "--decompress"},
    {"--table", "--features"},
    {"--table-out", "--features-out"},
    {"--fanouts", "--fanout"},
    {"--no-recording", "--no-cuda-graphs"},
    {"--math", "--gemm"},
    {"--shard-way", "--shard-strategy"},
    {"--shard-wait", "--shard-timeout"},
    {"--shard-sums", "--shard-reduction"},
    {"--shard-wire", "--shard-dtype"},
    {"--shard-provider", "--shard-transport"},
    {"--shard-lists", "--shard-adjacency"},
    {"--shard-rows", "--shard-features"},
    {"--host-budget", "--memory-limit"},
    {"--personal", "--personalization"},
};
// What only the papers' figures use: an option, or values of one.
constexpr option_values of_figures[] = {{"--reads", ""}, {"--merge-reads", ""}, {"--cache-policy", "window clock"}};

constexpr old_name of_device[] = {{"host", "cpu"}, {"device", "cuda"}}, of_tier[] = {{"memory", "host"}},
                   of_reduction[] = {{"exact", "deterministic"}, {"quick", "fast"}}, of_adjacency[] = {{"packed", "compressed"}},
                   of_features[] = {{"near", "local"}, {"tiers", "tiered"}};

}  // namespace

std::span<old_name const> old_options() { return were_options; }
std::span<old_name const> old_values(std::string_view name) {
  if (name == "--device") return of_device;
  if (name == "--feature-tier") return of_tier;
  if (name == "--shard-reduction") return of_reduction;
  if (name == "--shard-adjacency") return of_adjacency;
  if (name == "--shard-features") return of_features;
  return {};
}

words_taken values_of(std::string_view name) {
  auto const* const at = std::find_if(std::begin(values), std::end(values), [&](option_values const& v) { return v.name == name; });
  return at == std::end(values) ? words_taken{} : words_taken{at->users, at->papers};
}

bool is_of_figures(std::string_view option, std::string_view value) {
  auto const is = [&](option_values const& v) { return v.name == option && (v.users.empty() || is_word(value, v.users)); };
  return std::any_of(std::begin(of_figures), std::end(of_figures), is);
}

option_row const& row_of(std::string_view name) {
  for (std::span<option_row const> const rows : {this_program().options, std::span<option_row const>(common_rows)})
    for (option_row const& r : rows)
      if (r.name == name) return r;
  fail(errc::internal, "{}: not in the table of options", name);
}

}  // namespace garner::cli
