//! Graphs written by SciPy (`scripts/make_io_fixtures.py`) read as SciPy says, ours come back, and wrong ones are refused.

use std::path::Path;

use serde_json::Value;
use spadework::Graph;
use spadework::graph::generators;
use spadework_io::load_graph;
use spadework_io::output::write_graph;

fn fixture(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/graphs").join(file).display().to_string()
}

#[test]
fn every_fixture_reads_as_scipy_says() {
    let cases: Value =
        serde_json::from_str(&std::fs::read_to_string(fixture("expected.json")).unwrap()).unwrap();
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 15);
    for case in cases {
        let file = case["file"].as_str().unwrap();
        let loaded = load_graph(&fixture(file), Some(12)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.loops as u64, case["loops"].as_u64().unwrap(), "{file}");
        assert_eq!(loaded.graph.nodes() as u64, case["nodes"].as_u64().unwrap(), "{file}");
        let edges: Vec<[f64; 3]> =
            loaded.graph.edges().map(|(p, q, weight)| [f64::from(p), f64::from(q), weight]).collect();
        let expected: Vec<[f64; 3]> = serde_json::from_value(case["edges"].clone()).unwrap();
        assert_eq!(edges, expected, "{file}");
        assert_eq!(loaded.graph.is_unit(), expected.iter().all(|edge| edge[2] == 1.0), "{file}");
        // Without the number of samples the file says it, or its largest node.
        assert_eq!(load_graph(&fixture(file), None).unwrap().graph.nodes(), 12, "{file}");
    }
}

/// The file is by PETSc (`scripts/make_petsc_fixtures.py`), of the matrix that SciPy saved.
#[test]
fn a_matrix_of_petsc_is_the_one_that_it_was_made_of() {
    let expected = load_graph(&fixture("directed.npz"), None).unwrap();
    assert_eq!(load_graph(&fixture("directed.petsc"), None).unwrap(), expected);
    // Its first bytes tell it where its name does not.
    let folder = tempfile::tempdir().unwrap();
    let nameless = folder.path().join("matrix");
    let bytes = std::fs::read(fixture("directed.petsc")).unwrap();
    std::fs::write(&nameless, &bytes).unwrap();
    assert_eq!(load_graph(&nameless.display().to_string(), None).unwrap(), expected);
    // With indices of 64 bits, as PETSc writes where it was built so.
    let (indices, values) = bytes.split_at(4 * (4 + 12) + 4 * entries(&bytes));
    let wide = indices.chunks(4).flat_map(|index| [&[0; 4], index].concat()).collect::<Vec<u8>>();
    std::fs::write(&nameless, [&wide, values].concat()).unwrap();
    assert_eq!(load_graph(&nameless.display().to_string(), None).unwrap(), expected);
    std::fs::write(&nameless, &bytes[..bytes.len() - 1]).unwrap();
    let message = load_graph(&nameless.display().to_string(), None).unwrap_err().to_string();
    assert!(message.contains("12 rows and 34 entries take 472 bytes, got 471"), "{message}");
}

/// The number of entries that a PETSc matrix of 32-bit indices claims.
fn entries(bytes: &[u8]) -> usize {
    u32::from_be_bytes(bytes[12..16].try_into().unwrap()) as usize
}

#[test]
fn graphs_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    // Weights of all magnitudes, and some that no short decimal tells.
    let weighted: Vec<(u32, u32, f64)> =
        (1..60).map(|q| (q / 3, q, f64::from(q).powf(0.1) * 10_f64.powi(q as i32 - 30))).collect();
    let weighted = Graph::from_weighted_edges(60, &weighted).unwrap();
    for ending in ["csv", "npz", "petsc"] {
        for graph in [&generators::grid(5, 7), &weighted] {
            let path = folder.path().join(format!("graph.{ending}"));
            write_graph(&path, graph).unwrap();
            let loaded = load_graph(&path.display().to_string(), None).unwrap();
            assert_eq!((&loaded.graph, loaded.loops, loaded.zeros), (graph, 0, 0), "{ending}");
        }
    }
    let message = write_graph(&folder.path().join("graph.txt"), &weighted).unwrap_err().to_string();
    assert!(message.ends_with("graph.txt: a graph is written as .csv, .npz or .petsc"), "{message}");
}

#[test]
fn what_is_refused_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let mtx = |body: &str| format!("%%MatrixMarket matrix coordinate real general\n{body}");
    let cases = [
        (fixture("refused_coo.npz"), "must be saved as csr or csc (.tocsr()), got `coo`"),
        (fixture("refused_wide.npz"), "must be square, got 5 × 12"),
        (fixture("refused_negative.npz"), "row 0, column 3: a weight must be positive and finite, got -6.75"),
        (fixture("refused_dense.mtx"), "line 1: the file must begin with `%%MatrixMarket matrix coordinate`"),
        (
            fixture("refused_complex.mtx"),
            "then real, integer or pattern, then general or symmetric, got `%%Mat",
        ),
        (
            fixture("expected.json"),
            "expected a graph as .csv or .tsv (edges), .npz (SciPy), .mtx (Matrix Market) or .petsc",
        ),
        (fixture("absent.csv"), "no such file"),
        (folder.path().display().to_string(), "expected a file, got a folder"),
        (
            write("score.csv", "p,q,score\n0,1,2.5\n"),
            "line 1: a third column must be called `weight`, got `score`",
        ),
        (write("nan.csv", "0,1,1\n1,2,nan\n"), "line 2: a weight must be positive and finite, got NaN"),
        (
            write("word.csv", "p,q\n0,one\n"),
            "line 2: p and q must be whole numbers, counted from 0, got `one`",
        ),
        (
            write("minus.csv", "0,1\n-1,1\n"),
            "line 2: p and q must be whole numbers, counted from 0, got `-1`",
        ),
        (write("half.csv", "p,q,weight\n0,1,x\n"), "line 2: a weight must be a number, got `x`"),
        (write("wide.csv", "0,1,1,1\n"), "line 1: an edge is p,q or p,q,weight, got 4 cells"),
        (write("ragged.csv", "0,1\n1,2,3\n"), "every line must have 2 cells like the first, got 3 at line 2"),
        (write("empty.csv", ""), "a graph must have at least one edge, got none"),
        (write("loops.csv", "0,0\n1,1\n"), "a graph must have at least one edge, got none"),
        (write("far.csv", "0,4000000000\n"), "4000000001 nodes must have at least half as many edges, got 1"),
        (write("farther.csv", "0,4294967295\n"), "line 1: a node must be below 4294967295, got 4294967295"),
        (
            write("large.mtx", &mtx("4000000000 4000000000 1\n1 2 1\n")),
            "4000000000 nodes must have at least half",
        ),
        (
            write("larger.mtx", &mtx("9000000000 9000000000 1\n1 2 1\n")),
            "fewer than 4294967295 nodes, got 9000000000",
        ),
        (write("zero.mtx", &mtx("3 3 1\n0 2 1\n")), "line 3: rows and columns are counted from 1, got 0"),
        (
            write("outside.mtx", &mtx("3 3 1\n1 4 1\n")),
            "line 3: a node must be below the number of samples, got 3",
        ),
        (write("short.mtx", &mtx("3 3 2\n1 2 1\n")), "promises 2 entries, got 1"),
        (
            write("size.mtx", &mtx("3 3\n")),
            "line 2: the line of sizes must be rows, columns and entries, got `3 3`",
        ),
        (write("entry.mtx", &mtx("3 3 1\n1 2\n")), "line 3: an entry is row, column and value, got `1 2`"),
        (write("none.npz", "PK"), "not a valid npz file"),
    ];
    for (path, part) in cases {
        let message = load_graph(&path, None).unwrap_err().to_string();
        assert!(message.starts_with(&path), "{message}");
        assert!(message.contains(part), "expected `{part}` in {message}");
        assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
    }
}

#[test]
fn a_graph_must_have_one_node_a_sample() {
    let message = |file: &str, nodes| load_graph(&fixture(file), Some(nodes)).unwrap_err().to_string();
    assert!(message("whole.npz", 13).ends_with("one node per sample (13), got 12"));
    assert!(message("whole.mtx", 11).ends_with("one node per sample (11), got 12"));
    assert!(message("pairs.csv", 11).contains("a node must be below the number of samples, got 11"));
    // A list of edges need not name the last samples.
    assert_eq!(load_graph(&fixture("pairs.csv"), Some(15)).unwrap().graph.nodes(), 15);
}

#[test]
fn zeros_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros.csv");
    std::fs::write(&path, "0,1,2\n1,2,0\n2,0,1\n2,2,1\n1,0,3\n").unwrap();
    let loaded = load_graph(&path.display().to_string(), None).unwrap();
    assert_eq!((loaded.zeros, loaded.loops), (1, 1));
    assert_eq!(loaded.graph.edges().collect::<Vec<_>>(), [(0, 1, 3.0), (0, 2, 1.0)]);
}
