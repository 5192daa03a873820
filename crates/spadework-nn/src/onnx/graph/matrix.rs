//! Products of matrices, and normalizations.

use super::operators::Inputs;
use super::value::{AXES, Floats, TOO_MANY_NUMBERS, Value, broadcast, product as numbers};
use crate::onnx::problem::Outcome;

/// α A B + β C, with A and B transposed where the node says.
pub(super) fn gemm(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let (a, b, c) = (inputs.floats(0)?, inputs.floats(1)?, inputs.optional_floats(2)?);
    let ([rows, inner], [inner_too, columns]) = match (a.shape().as_slice(), b.shape().as_slice()) {
        (&[a0, a1], &[b0, b1]) => {
            let turned = |name| inputs.node.integer(name, 0) != 0;
            (
                if turned("transA") { [a1, a0] } else { [a0, a1] },
                if turned("transB") { [b1, b0] } else { [b0, b1] },
            )
        }
        (a, b) => return inputs.refuse(&format!("must have two matrices, got shapes {a:?} and {b:?}")),
    };
    if inner != inner_too {
        return inputs
            .refuse(&format!("must have matrices that fit each other, got {inner} and {inner_too}"));
    }
    inputs.or_refuse(numbers(&[rows, columns]), TOO_MANY_NUMBERS)?;
    let matrix = |floats: Floats, name: &str, shape: [usize; 2]| {
        if inputs.node.integer(name, 0) == 0 {
            return floats.with_axes(shape);
        }
        floats.with_axes([shape[1], shape[0]]).transpose()
    };
    let mut product = matrix(a, "transA", [rows, inner]).matmul(matrix(b, "transB", [inner, columns]));
    let (alpha, beta) = (inputs.node.float("alpha", 1.0), inputs.node.float("beta", 1.0));
    if alpha != 1.0 {
        product = product * alpha;
    }
    let sum = Floats::of(product);
    let mut sum = inputs.or_refuse(sum, TOO_MANY_NUMBERS)?;
    if let Some(c) = c {
        if broadcast(&[rows, columns], &c.shape()) != Some(vec![rows, columns]) {
            return inputs
                .refuse(&format!("must have a C that fits {rows} x {columns}, got {:?}", c.shape()));
        }
        let c = if beta == 1.0 { c.tensor } else { c.tensor * beta };
        sum = sum.map(|product| product + c);
    }
    Ok(sum.into())
}

/// A product of matrices in the last two axes; those before are broadcast.
pub(super) fn product(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let (a, b) = (inputs.floats(0)?, inputs.floats(1)?);
    let (left, right) = (a.shape(), b.shape());
    let (&[.., rows, inner], &[.., inner_too, columns]) = (left.as_slice(), right.as_slice()) else {
        return inputs.refuse(&format!("must have two matrices, got shapes {left:?} and {right:?}"));
    };
    let (outer, outer_too) = (&left[..left.len() - 2], &right[..right.len() - 2]);
    let batch = broadcast(outer, outer_too).filter(|_| inner == inner_too);
    let batch = inputs
        .or_refuse(batch, &format!("must have matrices that fit each other, got {left:?} and {right:?}"))?;
    let count: usize = batch.iter().product();
    let shape: Vec<usize> = batch.iter().copied().chain([rows, columns]).collect();
    for matrices in [[count, rows, columns], [count, rows, inner], [count, inner, columns]] {
        inputs.or_refuse(numbers(&matrices), TOO_MANY_NUMBERS)?;
    }
    let result = if outer_too.iter().product::<usize>() == 1 {
        // One matrix for all rows.
        let all = a.with_axes([count * rows, inner]).matmul(b.with_axes([inner, columns]));
        Floats::of(all)
    } else {
        let spread = |floats: Floats, matrix: [usize; 2]| {
            let mut shape = [1; AXES];
            let first = shape.len() - 2 - batch.len();
            shape[first..first + batch.len()].copy_from_slice(&batch);
            shape[AXES - 2..].copy_from_slice(&matrix);
            floats.tensor.expand(shape).reshape([count, matrix[0], matrix[1]])
        };
        Floats::of(spread(a, [rows, inner]).matmul(spread(b, [inner, columns])))
    };
    let reshaped = result.and_then(|result| result.reshaped(&shape));
    inputs.or_refuse(reshaped, TOO_MANY_NUMBERS).map(Value::from)
}

/// x·s + t by channel, with s = γ/√(σ² + ε) and t = β − μ·s.
pub(super) fn batch_norm(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    if inputs.node.integer("training_mode", 0) != 0 {
        return inputs.refuse("must not normalize by its batch (training_mode 1)");
    }
    let x = inputs.floats(0)?;
    let channels = x.shape().get(1).copied();
    let channels = inputs.or_refuse(channels, "must have values with channels")?;
    let along: Vec<usize> = (0..x.rank).map(|axis| if axis == 1 { channels } else { 1 }).collect();
    let mut four = Vec::with_capacity(4);
    for at in 1..5 {
        let parameter = inputs.floats(at)?.reshaped(&along);
        four.push(inputs.or_refuse(parameter, "must have one parameter per channel")?.tensor);
    }
    let [scale, shift, mean, variance]: [_; 4] = four.try_into().expect("four were taken");
    let factor = scale / (variance + inputs.node.float("epsilon", 1e-5)).sqrt();
    let offset = shift - mean * factor.clone();
    Ok(x.map(|x| x * factor + offset).into())
}

/// Mean 0 and variance 1 over the axes from one on, then γ and β.
pub(super) fn layer_norm(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let (x, scale, shift) = (inputs.floats(0)?, inputs.floats(1)?, inputs.optional_floats(2)?);
    let axis = inputs.axis(inputs.node.integer("axis", -1), x.rank)?;
    let fits = |floats: &Floats| broadcast(&x.shape(), &floats.shape()) == Some(x.shape());
    if !fits(&scale) || !shift.as_ref().is_none_or(fits) {
        return inputs.refuse("must have parameters that fit its values");
    }
    let along: Vec<usize> = (axis..x.rank).map(|axis| x.axis(axis)).collect();
    let epsilon = inputs.node.float("epsilon", 1e-5);
    let normalized = x.map(|x| {
        let centered = x.clone() - x.mean_dims(&along);
        let variance = centered.clone().square().mean_dims(&along);
        centered / (variance + epsilon).sqrt() * scale.tensor
    });
    Ok(match shift {
        Some(shift) => normalized.map(|x| x + shift.tensor),
        None => normalized,
    }
    .into())
}
