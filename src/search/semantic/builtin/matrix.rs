//! Products of matrices, computed by a crate that chooses its instructions at run time. One thread, so that a result does
//! not depend on how many there are.
#![expect(unsafe_code, reason = "the crate takes pointers; the only call checks every bound")]

/// A matrix of numbers that are stored elsewhere.
#[derive(Clone, Copy)]
pub(super) struct MatrixView<'a> {
    numbers: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> MatrixView<'a> {
    /// A matrix that is stored by rows, each `stride` numbers after the one before.
    pub(super) fn of(numbers: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        MatrixView { numbers, rows, columns, row_stride: stride, column_stride: 1 }
    }

    pub(super) fn transposed(self) -> Self {
        MatrixView {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Whether every number of the matrix is there.
    fn is_whole(&self) -> bool {
        let last = self.rows.checked_sub(1).zip(self.columns.checked_sub(1));
        last.is_none_or(|(row, column)| row * self.row_stride + column * self.column_stride < self.numbers.len())
    }
}

/// `out = factor * left * right + keep * out`, where the rows of `out` are `stride` numbers apart.
pub(super) fn multiply(
    factor: f32,
    left: MatrixView<'_>,
    right: MatrixView<'_>,
    keep: f32,
    out: &mut [f32],
    stride: usize,
) {
    let (rows, inner, columns) = (left.rows, left.columns, right.columns);
    let target = MatrixView::of(out, rows, columns, stride);
    assert!(inner == right.rows && columns <= stride, "matrices of these shapes have no product");
    assert!(left.is_whole() && right.is_whole() && target.is_whole(), "a matrix is cut off");
    // SAFETY: every number of the three matrices is inside its slice, and the rows of `out` do not overlap.
    unsafe {
        matrixmultiply::sgemm(
            rows,
            inner,
            columns,
            factor,
            left.numbers.as_ptr(),
            left.row_stride.cast_signed(),
            left.column_stride.cast_signed(),
            right.numbers.as_ptr(),
            right.row_stride.cast_signed(),
            right.column_stride.cast_signed(),
            keep,
            out.as_mut_ptr(),
            stride.cast_signed(),
            1,
        );
    }
}
