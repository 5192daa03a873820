use super::*;

fn values(text: &str) -> (Vec<usize>, Vec<f64>) {
    let table = parse(text.as_bytes(), None, "x.csv").unwrap();
    let Numbers::F64(values) = table.numbers else { panic!("text is read as f64") };
    (table.shape, values)
}

fn message(text: &str) -> String {
    parse(text.as_bytes(), None, "x.csv").unwrap_err().to_string()
}

#[test]
fn reads_every_delimiter_with_and_without_header() {
    let expected = (vec![2, 2], vec![1.0, -2.5, 3e2, 4.0]);
    for delimiter in [",", ";", "\t"] {
        let body = format!("1{delimiter}-2.5\n3e2{delimiter} 4\r\n");
        assert_eq!(values(&body), expected);
        assert_eq!(values(&format!("\u{feff}a{delimiter}\"b,c\"\n{body}")), expected);
    }
    assert_eq!(values("5\n6"), (vec![2, 1], vec![5.0, 6.0]));
}

#[test]
fn names_line_and_column() {
    assert_eq!(message("a,b\n1,2\n\n3,x\n"), "x.csv: expected a number at line 4, column 2 (`b`), got `x`");
    assert_eq!(message("1,2\n,2\n"), "x.csv: expected a number at line 2, column 1, got an empty cell");
    assert_eq!(message("1,2\n3\n"), "x.csv: every line must have 2 cells like the first, got 1 at line 2");
    assert_eq!(message(""), "x.csv: expected at least one line of numbers, got none");
    assert_eq!(message("a,b\n"), "x.csv: expected at least one line of numbers, got none");
}

#[test]
fn numbers_that_pandas_gives_columns_are_a_header() {
    // `pandas.DataFrame(…).to_csv(index=False)`
    assert_eq!(values("0,1,2\n5,0.5,7\n"), (vec![1, 3], vec![5.0, 0.5, 7.0]));
    assert_eq!(values("0,1\n9,8\n7,6\n"), (vec![2, 2], vec![9.0, 8.0, 7.0, 6.0]));
    let column = parse(b"0,1\n9,8\n7,6\n", Some("1"), "x.csv").unwrap();
    assert_eq!(column.numbers, Numbers::F64(vec![8.0, 6.0]));
}

#[test]
fn lines_that_begin_by_counting_can_be_samples() {
    assert_eq!(values("0,1,2\n3,4,5\n9,9,9\n").0, [3, 3]);
    assert_eq!(values("0,1,2\n").0, [1, 3]);
    assert_eq!(values("0\n5\n").0, [2, 1]);
    assert_eq!(values("0.0,1.0\n0.5,0.5\n").0, [2, 2]);
    assert_eq!(values("0,2\n0.5,0.5\n").0, [2, 2]);
}

#[test]
fn the_index_of_pandas_is_left_out() {
    // `pandas.DataFrame(…).to_csv()`, without and with names
    for header in [",0,1", ",a,b"] {
        let text = format!("{header}\n0,1.5,2\n1,3,4\n");
        assert_eq!(values(&text), (vec![2, 2], vec![1.5, 2.0, 3.0, 4.0]));
    }
    let column = parse(b",a,b\n7,1,2\n", Some("b"), "x.csv").unwrap();
    assert_eq!(column.numbers, Numbers::F64(vec![2.0]));
    assert_eq!(labels(b",0\n0,5\n1,5\n", None, "y.csv").unwrap().ids(), [5, 5]);
    assert_eq!(labels(b",class\n0,dog\n1,cat\n", None, "y.csv").unwrap().ids(), [1, 0]);
}

#[test]
fn an_unnamed_column_that_is_no_index_is_refused() {
    assert_eq!(
        message(",a\n0,1\n2,1\n"),
        "x.csv: a first column without a name must count the samples from 0, expected 1 at line 3, got `2`"
    );
    assert!(message(",0,1\n17,0.5,0.5\n").ends_with("expected 0 at line 2, got `17`"));
}

#[test]
fn a_sample_with_a_word_is_no_header() {
    let at =
        |column: usize, got: &str| format!("x.csv: expected a number at line 1, column {column}, got {got}");
    assert_eq!(message("0.5,NA\n1,2\n"), at(2, "`NA`"));
    assert_eq!(message("NA,1\n1,2\n"), at(1, "`NA`"));
    assert_eq!(message(",3,4\n1,2,3\n"), at(1, "an empty cell"));
    assert_eq!(message(",\n1,2\n"), at(1, "an empty cell"));
    // A user who names a column says that there is a header.
    let column = parse(b"label,0,1\n7,1,2\n", Some("label"), "x.csv").unwrap();
    assert_eq!(column.numbers, Numbers::F64(vec![7.0]));
}

#[test]
fn picks_a_column() {
    let text = b"id,score\nfirst,1\nsecond,2\n";
    let table = parse(text, Some("score"), "x.csv").unwrap();
    assert_eq!(
        table,
        Table {
            shape: vec![2, 1],
            numbers: Numbers::F64(vec![1.0, 2.0]),
            columns: Some(vec!["score".to_owned()])
        }
    );
    let error = parse(text, Some("rank"), "x.csv:rank").unwrap_err();
    assert_eq!(error.to_string(), "x.csv:rank: there is no `rank` in the file; it holds `id`, `score`");
    let error = parse(b"1,2\n", Some("rank"), "x.csv:rank").unwrap_err();
    assert_eq!(error.to_string(), "x.csv:rank: there is no `rank` in the file; it holds nothing");
}

#[test]
fn leaves_columns_out() {
    let without = |text: &str, columns: &[&str]| parse_without(text.as_bytes(), columns, "x.csv");
    let text = "id,age,class,income\na7,31,yes,2.5\nb2,54,no,7\n";
    let kept = Table {
        shape: vec![2, 2],
        numbers: Numbers::F64(vec![31.0, 2.5, 54.0, 7.0]),
        columns: Some(vec!["age".to_owned(), "income".to_owned()]),
    };
    assert_eq!(without(text, &["class", "id"]).unwrap(), kept);
    // What is left is read as ever, and an index is no column.
    let error = without(text, &["class"]).unwrap_err().to_string();
    assert_eq!(error, "x.csv: expected a number at line 2, column 1 (`id`), got `a7`");
    assert_eq!(without(",a,b\n0,1,x\n1,2,y\n", &["b"]).unwrap().numbers, Numbers::F64(vec![1.0, 2.0]));
    let error = without(text, &["class", "name"]).unwrap_err().to_string();
    assert!(error.contains("there is no `name` in the file; it holds `id`, `age`"), "{error}");
    assert!(without("1,2\n", &["a"]).unwrap_err().to_string().contains("it holds nothing"));
    assert!(without("a,b\n1,2\n", &["a", "b"]).unwrap_err().to_string().contains("at least one line"));
}

#[test]
fn labels_are_integers_or_words() {
    let ids = |text: &str| labels(text.as_bytes(), None, "y.csv").unwrap().ids().to_vec();
    assert_eq!(ids("3\n-1\n"), [3, -1]);
    assert_eq!(ids("label\n3.0\n1e1\n"), [3, 10]);
    assert_eq!(ids("cat\ndog\ncat\n"), [0, 1, 0]);
    assert_eq!(ids("label\ndog\ncat\n"), [1, 0]);
    let named = labels(b"i,class\n0,dog\n1,cat\n", Some("class"), "y.csv").unwrap();
    assert_eq!((named.ids(), named.class_name(1)), (&[1, 0][..], Some("dog")));
}

#[test]
fn refuses_other_labels() {
    let message = |text: &str| labels(text.as_bytes(), None, "y.csv").unwrap_err().to_string();
    assert!(message("1\n0.5\n").ends_with("got 0.5 at row 1"));
    assert!(message("1\n1e300\n").ends_with("got 1e300 at row 1"));
    assert!(message("1,2\n3,4\n").ends_with("got shape [2, 2]"));
    assert!(message("a\n\"\"\n").ends_with("got an empty cell at row 0"));
    assert!(message("").contains("at least one line"));
}
