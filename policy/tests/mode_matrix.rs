//! The table of modes and classes, compared with the reviewed one.

use portcullis_policy::mode::print_matrix;

#[test]
fn the_matrix_is_the_reviewed_one() {
    let printed = print_matrix();
    let reviewed = include_str!("mode_matrix.txt");
    assert_eq!(
        printed, reviewed,
        "the table changed: review it and change tests/mode_matrix.txt with it\n{printed}"
    );
}
