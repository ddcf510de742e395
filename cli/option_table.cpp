// The vocabulary of the program: every option of every verb, once.
#include <algorithm>
#include <array>

#include "core/fail.hpp"
#include "options.hpp"

namespace garner::cli {

namespace {

using enum option_group;

constexpr option_row table[] = {
    // --- by position ---
    {"FILE", "", basic, "a container (.gnr; convert other formats first), or a graph made in memory: kron:20, uniform:20, web:20:32"},
    {"IN", "", basic,
     "file to read: .el .wel .csv .txt .tsv .edgelist .edges .mtx .gr .col .graph .sg .wsg .bel .v .e .npy .npz .gnr, all but .npy, .npz "
     "and .gnr also with .gz or .zst; the folder of a data set; a table of rows (.npy, .gnt) for a .gnt; or kron:20 and so on; - is "
     "standard "
     "input (say --from)"},
    {"OUT", "", basic,
     "file to write: .gnr .el .wel .mtx .graph .sg .wsg .bel, all but .gnr also with .gz or .zst; of a folder a manifest, .json; of a "
     "table "
     "of rows (.npy) .gnt, and back; - is standard output (say --to)"},
    {"KIND", "", basic, "kron (R-MAT as in Graph500), uniform, or web (local links, pages of high degree)"},
    {"JOB", "", basic, "bfs, sssp, components or pagerank"},
    {"WHAT", "", basic, "what to measure"},
    {"RUN.json", "", basic, "what garner bench wrote; several files of traversal of one setting are drawn as one"},

    // --- where a job starts ---
    {"--source", "V", basic, "vertex to start from, by the user's id (default: one picked)"},
    {"--sources", "FILE", basic, "file with one source a line"},
    {"--trials", "N", basic, "so many runs, for their times"},
    {"--seed", "N", basic, "of what is drawn"},
    {"--save-sources", "FILE", advanced, "file to write the sources to, one a line"},

    // --- where it runs, where its data lie ---
    {"--place", "PLACE", basic, "host, device, device:N, or simulated: a GPU simulated, to count its requests"},
    {"--tier", "TIER", basic,
     "where the edges lie: automatic, host, device, peer (another device), managed, file: they stay there and are read as they are wanted "
     "(default: automatic: device where all of it fits there, "
     "else host; managed for paged; host where the paper's program runs)"},
    {"--access", "ACCESS", advanced, "how a team reads a list: strided, merged, aligned, paged, copied"},
    {"--l2-bytes", "BYTES", advanced, "of a simulated run: the L2 before the link, as 50MiB (default: none)"},
    {"--device-budget", "BYTES", basic,
     "bytes of far data cached on the device: directories of packed lists, best neighbours, short lists or first arcs, as 800MiB (default: "
     "a "
     "tenth of the edge list, where there is room)"},
    {"--host-budget", "BYTES", basic, "host memory that may be taken, as 8GiB (default: what the machine has)"},
    {"--scratch", "FOLDER", basic,
     "folder on a disk with room, for what is sorted by parts where a graph is larger than --host-budget (default: that of OUT)"},
    {"--device-memory", "BYTES", basic, "device memory that may be taken in all, as 8GiB (default: what is free)"},

    // --- how it searches ---
    {"--variant", "VARIANT", advanced, "of the job (default: the job's)"},
    {"--job", "JOB", basic, "bfs, sssp, components or pagerank"},
    {"--cached-neighbours", "N", advanced,
     "with direction: 0 to 4 best neighbours of every vertex are cached near and asked first; made when the job starts, or from the file "
     "(default: as many as --device-budget allows)"},
    {"--hints", "N", hidden, "--cached-neighbours, before 0.1.0"},
    {"--join", "", advanced, "neighbouring lists of the frontier are read as one (default: with aligned, one a team)"},
    {"--slice", "N", advanced, "elements of a long list that one team takes"},
    {"--first-neighbours", "N", advanced, "of each list, linked before the rest; afforest"},
    {"--delta", "X", advanced, "how far beyond the least open distance is near (default: from weights and degrees)"},
    {"--vertices-per-team", "N", paper, "lists that one team walks one after the other; EMOGI's fastest program takes 8"},
    {"--no-split", "", paper, "a long list is walked by one team, not by several"},
    {"--no-join", "", paper, "each list is read by itself, as EMOGI does"},
    {"--no-queue", "", paper, "levels of few vertices are walked like all others, not through a queue, a launch each"},
    {"--damping", "D", basic, "the share that follows edges"},
    {"--tolerance", "T", basic, "stops at this L1 change of an iteration"},
    {"--iterations", "N", basic, "exactly so many"},
    {"--by-degree", "YES", basic, "yes or no: copy near lists so that much-asked ranks lie together (default: where it pays and fits)"},
    {"--dangling", "WHAT", basic, "rank of vertices without out-edges: redistribute (default) or drop"},
    {"--personal", "FILE", basic, "file of vertex ids, each with a weight from 0 or not: where it starts and jumps to"},

    // --- what comes out ---
    {"--verify", "", basic, "check the result against the graph"},
    {"--out", "FILE", basic, "file to write"},
    {"-o,--out", "FILE", basic, "file to write"},
    {"--format", "FORMAT", basic, "of that file: text, tsv, npy or ldbc (default: by its ending, .tsv or .npy, else text)"},
    {"--levels", "", advanced, "a line a level also where there are many sources"},
    {"--rounds", "", advanced, "a line a round"},
    {"--json", "", basic, "print one JSON object"},
    {"--no-check", "", advanced, "do not check the checksums of the container"},
    {"--check", "", basic, "check every byte of the file, not only what is read for the figures"},
    {"--quiet", "", basic, "no progress bar"},
    {"--stats", "", advanced, "phases, counters and peaks of memory on stderr at the end"},

    // --- graphs made and changed ---
    {"--scale", "N", basic, "2^SCALE vertices"},
    {"--edge-factor", "N", basic, "edges drawn a vertex"},
    {"--from", "FORMAT", basic,
     "format of IN, whatever its ending says: el, wel, csv, snap, mtx, gr, metis, sg, wsg, bel, ldbc, npy, npz, gnr"},
    {"--to", "FORMAT", basic, "format of OUT, whatever its ending says: gnr, el, wel, mtx, metis, sg, wsg, bel"},
    {"--stripe", "LIST", basic, "of rows to .gnt: a part goes to each of these folders, best on drives of their own, as /d0,/d1"},
    {"--page-bytes", "N", advanced, "of rows to .gnt: what is read and checked at once, a power of two from 512 to 1048576"},
    {"--undirected", "", basic, "each edge goes both ways (default: as the format says, else directed)"},
    {"--directed", "", basic, "each edge goes one way"},
    {"--in-lists", "", basic, "also store the in-neighbours of a directed graph"},
    {"--keep-duplicates", "", basic, "else of equal edges the one with the smallest weight stays"},
    {"--keep-loops", "", basic, "else edges from a vertex to itself are dropped"},
    {"--compact", "", basic, "number the vertices that occur 0, 1, ...; their ids stand in a map, where they leave gaps"},
    {"--keep-ids", "", basic, "keep ids however sparse; gaps become isolated vertices"},
    {"--allow-empty", "", basic, "a file without any vertex makes a graph of none (default: it is refused, as a failed download looks so)"},
    {"--columns", "LIST", basic,
     "of text with more columns: source, target and perhaps weight, by name or number, as src,dst,weight or 1,2,4"},
    {"--skip-lines", "N", basic, "lines of text to pass over: some files open with a line of counts"},
    {"--split", "WHICH", basic, "of a folder: which of the folders in split/ holds the training vertices, where there are several"},
    {"--id-bytes", "N", advanced, "bytes of a vertex id in the edge list, 4 or 8 (default: 4 where they fit)"},
    {"--ignore-weights", "", basic, "read the edges alone"},
    {"--weights", "LOW:HIGH", basic, "draw whole-number weights from LOW:HIGH, as 1:255"},
    {"--weights-f32", "LOW:HIGH", basic, "draw real weights from LOW:HIGH, as 0:1"},
    {"--weight-seed", "N", basic, "of the drawn weights; an edge has the same weight both ways"},
    {"--compress", "", basic, "pack neighbour lists and weights; all jobs run on packed lists and give the same results"},
    {"--unpack", "", basic, "of a container: write its packed lists plain"},
    {"--keep-cached-neighbours", "N", advanced,
     "so many best neighbours of every vertex, 1 to 4, are kept in a container, so that jobs need not look for them (default: as many as "
     "fit a tenth of the edge list)"},
    {"--no-cached-neighbours", "", basic, "keep no cached neighbours in a container, which is then smaller by 4 to 16 bytes a vertex"},
    {"--keep-hints", "N", hidden, "--keep-cached-neighbours, before 0.1.0"},
    {"--file", "FILE", basic, "keep the container under this name (default: a temporary file)"},

    // --- orders, scores, samples ---
    {"--by", "WHAT", basic, "what decides"},
    {"--score", "SCORE", basic,
     "of --by score: degree, rpr, wrpr, expected, sampled (see garner score; default: expected), or an .npy file by ascending id"},
    {"--table", "FILE", basic, "a feature table (.npy, a row a vertex by ascending id), whose rows follow the vertices"},
    {"--table-out", "FILE", basic, "where it goes (default: in its place)"},
    {"--map", "FILE", advanced,
     "file to write (.npy, int64): for each place in the new order which of the ascending ids stands there; row k of the new table is row "
     "map[k] of the old"},
    {"--train", "WHICH", basic, "training vertices: a share of all, as 1%, or a file of vertex ids"},
    {"--fanout", "LIST", basic, "in-neighbours drawn a vertex, for each of 1 to 6 hops"},
    {"--rule", "RULE", basic, "who samples at a hop: all vertices so far (as DGL), or those that the last hop reached (as PyG)"},
    {"--batch", "N", basic, "training vertices of a mini-batch"},
    {"--fanouts", "LIST", hidden, "--fanout"},
    {"--share", "SHARE", basic, "training vertices: a share, drawn, of those that have neighbours to draw"},
    {"--side", "SIDE", basic, "whose neighbours: in (those that lead to a vertex) or out"},
    {"--replace", "", basic, "a neighbour may be drawn again"},
    {"--disjoint", "", basic, "a tree a training vertex: vertices of different trees are different ones"},
    {"--weighted", "", basic, "neighbours are drawn by the weights of the edges"},
    {"--labor", "", basic, "vertices of a mini-batch keep the same neighbours where they can (LABOR-0), so that fewer rows are read"},
    {"--edge-ids", "", basic, "also where each edge stands in the lists"},
    {"--batches", "N", basic, "stop after so many mini-batches"},
    {"--presample", "N", advanced, "epochs sampled beforehand, by a seed of their own"},
    {"--epochs", "N", basic, "the training set so many times, shuffled anew"},
    {"--keep-rows", "", basic, "also keep the rows of every mini-batch, in a .gtr"},

    // --- rows loaded ---
    {"--features", "FILE", basic, "a table (.npy, a row a vertex by ascending id)"},
    {"--width", "N", basic, "without --features: a table of rows of so many f32, made in memory"},
    {"--labels", "FILE", basic, "a table (.npy) of which each mini-batch gets the rows of its training vertices"},
    {"--rows", "WHERE", basic, "where rows are that are not kept near: memory, or in their file (default: memory; of a .gnt file)"},
    {"--host-rows", "BYTES", basic,
     "with --rows file: of rows in host memory, as 8GiB, or a share of all, as 10% (default: half of what is free)"},
    {"--file-cache", "BYTES", basic, "of --host-rows, what is for rows that come from the file, as 1GiB (default: a quarter)"},
    {"--drive-reads", "N", basic, "with --rows file: rows a second that its drive gives (default: measured, of a file of 64 MiB and more)"},
    {"--merge-reads", "N", paper,
     "with --rows file: mini-batches are read together until they ask for N rows, and the next when these have come: GIDS' storage access "
     "accumulator; 95%: for as many as its formula says for this share of the measured drive (default: reads never pause)"},
    {"--cache", "POLICY", basic, "which rows of the file stay a while: next-use, window (GIDS), clock (BaM) or pinned (by score)"},
    {"--reads", "WHO", paper,
     "who reads rows of the file: ahead, a thread that knows what comes; or kernels, which ask for the pages they miss and wait, as BaM "
     "does: then --cache is clock (default: ahead)"},
    {"--budget", "BYTES", basic, "rows kept near, as 8GiB, or a share of all, as 10% (default: what fits the device; simulated: none)"},
    {"--keep-lists", "BYTES", basic,
     "of lists that lie far those that are read most by --score are kept near, as 8GiB, or a share of all, as 10% (default: none)"},
    {"--near-bytes", "BYTES", advanced, "what may lie near at a time, as 8GiB; the rest comes in parts (default: what is free)"},
    {"--way", "WAY", basic,
     "how rows come: window (far rows of several mini-batches once), tiered, zero_copy (unordered), staged (by the host), automatic"},
    {"--window", "N", basic,
     "mini-batches whose far rows are fetched together, 1 to 64 (default: 8 to 32, as a quarter of free memory has room for)"},
    {"--ahead", "N", basic, "mini-batches that are ready before they are asked for, 1 to 64"},
    {"--window-bytes", "BYTES", advanced, "of rows that a window holds at the most (default: a quarter of what is free)"},
    {"--multiprocessors", "N", advanced, "of the device, for far rows; 0: all"},
    {"--compute-ms", "X", basic, "each mini-batch is held so long, which stands for a model: on a device by arithmetic, else asleep"},
    {"--state", "FILE", basic, "file to write where it stopped"},
    {"--resume", "FILE", basic, "go on where the run that wrote this file stopped"},

    // --- models ---
    {"--model", "MODEL", basic, "gcn, sage or gin"},
    {"--full", "", basic, "the whole graph at every step, no mini-batches"},
    {"--no-recording", "", advanced,
     "with --full: give a device each kernel of a step by itself, not all at once as recorded (CUDA graphs); the same bits"},
    {"--layers", "N", basic, "of the model (default: one a fanout; with --full 2)"},
    {"--hidden", "N", basic, "elements of a row between layers"},
    {"--dropout", "P", basic, "share of a layer's elements that a step leaves out (default: 0.5, or 0.2 with residual and layer norm)"},
    {"--input-dropout", "P", advanced, "the same of the features (default: of gcn and sage without --residual as --dropout, else none)"},
    {"--lr", "X", basic, "learning rate of Adam"},
    {"--weight-decay", "X", basic,
     "added to the gradient, times the parameter (default: 5e-4, or a half over the number of training vertices)"},
    {"--norm", "NORM", basic,
     "between layers: none, layer, or automatic: layer for gin, and with 1,000 training vertices or more layer and --residual for all"},
    {"--residual", "", basic, "what comes into a layer is added to what it gives"},
    {"--scaling", "HOW", basic,
     "of the features: none, sum (each row over the sum of its sizes), length (over its length), or automatic: by what they hold"},
    {"--classes", "N", advanced, "that are told apart (default: one more than the highest label)"},
    {"--classes-only", "", basic, "the likeliest class of each vertex, not the scores"},
    {"--evaluate-every", "N", basic, "epochs until the exact evaluation; 0: at the end alone"},
    {"--patience", "N", basic,
     "stop after so many evaluations without a better validation; 0: never (default: as --epochs has it; 0 where that is set)"},
    {"--checkpoint", "FILE", basic, "file to keep the training in, after each epoch and when it is interrupted"},
    {"--target", "TYPE", basic, "of a manifest: the type that is told apart (default: the one with labels and training vertices)"},
    {"--devices", "LIST", basic,
     "GPUs that train together, as 0,1: a share of every mini-batch each, and --batch is of each of them; with --full a shard each"},
    {"--ranks", "N", basic, "so many threads train together at one place, as GPUs would"},
    {"--group", "NAME", basic,
     "processes that say the same name train together: RANK, WORLD_SIZE and LOCAL_RANK of the environment say which this is (torchrun)"},
    {"--shards", "N", basic,
     "parts of the graph, a thread each at one place, as GPUs would have them; train: with --full; with --group a process each"},
    {"--shard-way", "WAY", advanced,
     "how rows of other shards come: bulk, collective, mgg, or auto, which measures and tells why (default: auto)"},
    {"--shard-wait", "SECONDS", advanced, "a shard that does not come for so long is late: all others end, and name it (default: 300)"},
    {"--shard-sums", "HOW", advanced, "exact: the same bits with any number of shards; or quick (default: exact)"},
    {"--shard-wire", "ELEMENT", advanced, "rows between shards: f32, or rounded to bf16 or f16 and added up in f32 (default: f32)"},
    {"--shard-provider", "NAME", advanced,
     "what rows of other shards come over: peer (each other's memory), nccl, nvshmem, host (host memory), or automatic: peer, nccl or "
     "host, "
     "the first that all have"},
    {"--shard-lists", "HOW", advanced,
     "lists of a shard: plain (default), or packed: they take less memory and (--tier host) less of the link, and are unpacked a window at "
     "a time in every aggregation"},
    {"--shard-rows", "WHERE", advanced,
     "rows of the table: near, gathered once (default), or tiers: they stay where they lie, in host memory or a file, and come a block at "
     "a time, twice a step; of models that multiply rows before they add them up"},
    {"--shard-balance", "OF", advanced, "what shards have as many of: edges or vertices (default: edges)"},
    {"--mgg", "PS,DIST,WPB", paper,
     "of --shard-way mgg: neighbours of a partition, pairs of partitions a warp, warps a block (default: 16,1,4)"},
    {"--math", "HOW", advanced, "of dense products on a device: f32, tf32 or bf16"},

    // --- machine and figures ---
    {"--measure", "", basic, "measure the links again (else from the cache where they were measured before)"},
    {"--quick", "", basic, "where it is measured: random rows of a table of 1 GiB only (else up to 16 GiB, and managed memory)"},
    {"--drives", "LIST", basic,
     "also measure reads of these files, block devices, or folders (in a file made there, of 1 GiB where there is room), as /data,/mnt/x"},
    {"--kinds", "LIST", basic, "some of kron,uniform,web; or none (default: all; tiering: kron,web)"},
    {"--shrink", "N", basic, "shards: vertices and edges of the paper's graphs are divided by so many; 1: as they are"},
    {"--graph", "FILE", basic, "a container to measure too; may be said again"},
    {"--jobs", "LIST", basic, "some of bfs,sssp,components,pagerank"},
    {"--ways", "LIST", basic,
     "of traversal: some of uvm,strided,merged,aligned,copied,aligned-x8,levels,direction,default,near; near: the default with edges in "
     "device memory (default: all)"},
    {"--protocol", "NAME", basic, "paper: the mean of 64 sources; short: the median of 8"},
    {"--way-seconds", "S", advanced, "begin no further run of a way after so long (default: all runs of all ways)"},
    {"--link", "LIST", advanced, "GB/s of links for which times are predicted"},
    {"--pattern-bytes", "BYTES", advanced, "of the table that is read in patterns"},
    {"--row-bytes", "N", basic, "of tiering, load and train: a feature row"},
    {"--peers", "LIST", basic, "load, train: devices that hold rows for each other, as 0,1: figures 4.9, 4.11 and 4.12 for these too"},
    {"--ceiling", "N", advanced,
     "of tiering: what predictions can reach, by another training of so many times --epochs; the more the closer; 0: not told"},
    {"--deeper-epochs", "N", advanced, "of tiering: the same, for the depths of figure 4.10"},
    {"--no-gathers", "", advanced, "of tiering: leave out the gathers of figure 4.11 from a table in host memory"},
    {"--no-deeper", "", advanced, "of tiering: leave out the depths of figure 4.10"},
    {"--ids", "LIST", basic, "gather: ids a gather; the second is what most figures take"},
    {"--figures", "LIST", basic,
     "gather: some of unaligned,sizes,orders,dense,duplicates,convert,share,near,beside,copies; load: of ways,window,share,kept; train: of "
     "ways,widths,placement,learning,trainable; storage: of stages,sampling,cold,window,policies,drives,memory; shards: of "
     "ways,search,models,ablation,sweep"},
    {"--cache-batches", "X", basic, "storage: the cache has room for the rows of so many mini-batches"},
    {"--link-gbs", "X", advanced, "storage: GB/s of the link that drives share (default: of a device as measured, else 24, the paper's)"},
    {"--widths", "LIST", basic, "train: floats a row, for figure 3.15"},
    {"--step-rows", "N", basic, "train: different rows a step, of a table of 2^SCALE that are learned"},
    {"--explain", "", basic,
     "gather: measure nothing, but say which way and order would be taken for --ids of --table, whether what repeats crosses once, and "
     "why"},
};

struct option_values {
  std::string_view name, values;
};
constexpr std::string_view jobs = "bfs sssp components pagerank";
constexpr option_values values[] = {
    {"KIND", "kron uniform web"},
    {"JOB", jobs},
    {"WHAT", "traversal gather tiering load train storage shards"},
    {"--place", "host device simulated"},
    {"--tier", "automatic host device peer managed file"},
    {"--access", "strided merged aligned paged copied"},
    {"--job", jobs},
    {"--jobs", jobs},
    {"--by-degree", "yes no"},
    {"--dangling", "redistribute drop"},
    {"--format", "text tsv npy ldbc"},
    {"--from", "el wel csv snap mtx gr metis sg wsg bel ldbc npy npz gnr"},
    {"--to", "gnr el wel mtx metis sg wsg bel"},
    {"--id-bytes", "4 8"},
    {"--score", "degree rpr wrpr expected sampled"},
    {"--rule", "all last"},
    {"--side", "in out"},
    {"--rows", "memory file"},
    {"--cache", "next-use window clock pinned"},
    {"--reads", "ahead kernels"},
    {"--way", "window tiered zero_copy staged automatic"},
    {"--model", "gcn sage gin"},
    {"--norm", "none layer automatic"},
    {"--scaling", "none sum length automatic"},
    {"--math", "f32 tf32 bf16"},
    {"--shard-way", "bulk collective mgg auto"},
    {"--shard-sums", "exact quick"},
    {"--shard-wire", "f32 bf16 f16"},
    {"--shard-provider", "peer nccl nvshmem host automatic"},
    {"--shard-lists", "plain packed"},
    {"--shard-rows", "near tiers"},
    {"--shard-balance", "edges vertices"},
    {"--kinds", "kron uniform web none"},
    {"--ways", "uvm strided merged aligned copied aligned-x8 levels direction default near"},
    {"--protocol", "paper short"},
};

}  // namespace

std::string_view values_of(std::string_view name) {
  auto const* const at = std::find_if(std::begin(values), std::end(values), [&](option_values const& v) { return v.name == name; });
  return at == std::end(values) ? "" : at->values;
}

option_row const& row_of(std::string_view name) {
  auto const* const at = std::find_if(std::begin(table), std::end(table), [&](option_row const& r) { return r.name == name; });
  if (at == std::end(table)) fail(errc::internal, "{}: not in the table of options", name);
  return *at;
}

}  // namespace garner::cli
