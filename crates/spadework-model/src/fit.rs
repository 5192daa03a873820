//! Converts a row of numbers to the input of a model: shape, order of axes, normalization.

use super::error::ModelError;
use super::outline::{Extent, Port, bracketed};

/// The order of the numbers of an image in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Channel after channel.
    ChannelsFirst,
    /// Pixel after pixel, each with its channels.
    ChannelsLast,
}

impl Layout {
    /// From the word that it is written as.
    pub fn from_word(word: &str) -> Option<Self> {
        [Layout::ChannelsFirst, Layout::ChannelsLast].into_iter().find(|layout| layout.to_string() == word)
    }
}

spadework::words! { written Layout { ChannelsFirst = "nchw", ChannelsLast = "nhwc" } }

/// What is subtracted from every number, and what the difference is divided by: one of each, or one of each per
/// channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalization {
    /// Means.
    means: Vec<f32>,
    /// Standard deviations, as many.
    deviations: Vec<f32>,
}

impl Normalization {
    /// From the means of all channels and then their deviations, e.g. `[0.13, 0.31]` or six numbers for three channels;
    /// none if that is not an even number of finite numbers, or a deviation is not positive.
    pub fn new(means_and_deviations: &[f32]) -> Option<Self> {
        let (means, deviations) = means_and_deviations.split_at(means_and_deviations.len() / 2);
        let sound = !means.is_empty()
            && means.len() == deviations.len()
            && means.iter().all(|mean| mean.is_finite())
            && deviations.iter().all(|&deviation| deviation > 0.0 && deviation.is_finite());
        sound.then(|| Self { means: means.to_vec(), deviations: deviations.to_vec() })
    }

    /// The numbers that it was made from.
    pub fn numbers(&self) -> Vec<f32> {
        [self.means.as_slice(), &self.deviations].concat()
    }
}

/// From rows to batches.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    /// The shape of one batch as the input takes it.
    pub(super) shape: Vec<usize>,
    /// Samples in a batch.
    pub(super) batch: usize,
    /// Numbers in a row.
    dim: usize,
    /// Channels and pixels, and the layout that the model wants, where axes must be moved.
    moved: Option<(usize, usize, Layout)>,
    normalization: Option<(Normalization, usize)>,
}

/// What is known of the rows.
pub(super) struct Rows<'a> {
    /// Shape of a sample, e.g. `[3, 32, 32]`.
    pub(super) shape: &'a [usize],
    /// What the user says of it.
    pub(super) layout: Option<Layout>,
}

impl Rows<'_> {
    fn dim(&self) -> usize {
        self.shape.iter().product()
    }

    fn text(&self) -> String {
        match self.shape {
            [dim] => format!("{dim} numbers"),
            shape => format!("{} numbers ({})", self.dim(), bracketed(shape)),
        }
    }
}

impl Fit {
    /// Fits rows to an input; `wanted` samples go into a batch where the model leaves the choice.
    pub(super) fn new(
        input: &Port,
        rows: &Rows<'_>,
        wanted: usize,
        normalization: Option<&Normalization>,
    ) -> Result<Self, ModelError> {
        let misfit = || ModelError::InputShape {
            input: input.name.clone(),
            expected: input.shape_text(),
            got: rows.text(),
        };
        let dim = rows.dim();
        // A model that says nothing takes the samples as they are.
        let declared = match &input.shape {
            Some(shape) => shape.clone(),
            None => std::iter::once(Extent::Dynamic(String::new()))
                .chain(rows.shape.iter().map(|&extent| Extent::Fixed(extent)))
                .collect(),
        };
        let normalization = normalization.map(|n| Ok((n.clone(), channel_stride(n, rows)?))).transpose()?;
        let sample = declared.get(1..).and_then(|sample| filled(sample, rows));
        let (shape, batch, sample) = if let (Some(sample), Some(first)) = (sample, declared.first()) {
            let batch = match first {
                Extent::Fixed(fixed) => *fixed,
                Extent::Dynamic(_) => wanted,
            };
            (std::iter::once(batch).chain(sample.iter().copied()).collect(), batch, sample)
        } else {
            // No axis for the batch: the whole input is one sample.
            let whole = filled(&declared, rows).ok_or_else(misfit)?;
            (whole.clone(), 1, whole)
        };
        if batch == 0 {
            return Err(misfit());
        }
        Ok(Self { moved: moved(&sample, rows), shape, batch, dim, normalization })
    }

    /// Whether axes are moved.
    pub(super) fn moves_axes(&self) -> bool {
        self.moved.is_some()
    }

    /// Puts one row into its place in a batch.
    pub(super) fn place(&self, row: impl Iterator<Item = f32>, place: &mut [f32]) {
        debug_assert_eq!(place.len(), self.dim);
        let normal = |at: usize, value: f32| match &self.normalization {
            None => value,
            Some((Normalization { means, deviations }, stride)) => {
                let channel = at / stride % means.len();
                (value - means[channel]) / deviations[channel]
            }
        };
        for (at, value) in row.enumerate() {
            let to = match self.moved {
                None => at,
                Some((channels, pixels, Layout::ChannelsLast)) => at % pixels * channels + at / pixels,
                Some((channels, pixels, Layout::ChannelsFirst)) => at % channels * pixels + at / channels,
            };
            place[to] = normal(at, value);
        }
    }
}

/// The extents of one sample, with those that the model leaves open taken from the rows; none if they do not fit.
fn filled(sample: &[Extent], rows: &Rows<'_>) -> Option<Vec<usize>> {
    let open = sample.iter().filter(|extent| matches!(extent, Extent::Dynamic(_))).count();
    let known: usize = sample.iter().try_fold(1_usize, |product, extent| match extent {
        Extent::Fixed(extent) => product.checked_mul(*extent),
        Extent::Dynamic(_) => Some(product),
    })?;
    let dim = rows.dim();
    let extents: Vec<usize> = match open {
        // One open extent is what is left over.
        0 | 1 => {
            let left = dim.checked_div(known)?;
            sample
                .iter()
                .map(|extent| if let Extent::Fixed(extent) = extent { *extent } else { left })
                .collect()
        }
        _ if sample.len() == rows.shape.len() => rows.shape.to_vec(),
        _ => return None,
    };
    let fits = sample.iter().zip(&extents).all(|(extent, &filled)| match extent {
        Extent::Fixed(extent) => *extent == filled,
        Extent::Dynamic(_) => true,
    });
    (fits && extents.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent)) == Some(dim))
        .then_some(extents)
}

/// Whether the model wants the channels at the other end than the rows have them: by the shapes where both are images,
/// else by what the user says of the rows.
fn moved(sample: &[usize], rows: &Rows<'_>) -> Option<(usize, usize, Layout)> {
    let &[first, middle, last] = sample else { return None };
    let to_last = (last, first * middle, Layout::ChannelsLast);
    let to_first = (first, middle * last, Layout::ChannelsFirst);
    let (moved, from) = match (*rows.shape == [last, first, middle], *rows.shape == [middle, last, first]) {
        _ if rows.shape == sample && rows.layout.is_none() => return None,
        (true, false) => (to_last, Layout::ChannelsFirst),
        (false, true) => (to_first, Layout::ChannelsLast),
        // A row without a shape, or one that could be either: the user knows, and the fewest are channels.
        _ => match rows.layout? {
            Layout::ChannelsFirst if last < first => (to_last, Layout::ChannelsFirst),
            Layout::ChannelsLast if first < last => (to_first, Layout::ChannelsLast),
            _ => return None,
        },
    };
    (rows.layout.is_none_or(|layout| layout == from)).then_some(moved)
}

/// How far apart in a row two channels are.
fn channel_stride(normalization: &Normalization, rows: &Rows<'_>) -> Result<usize, ModelError> {
    let channels = normalization.means.len();
    let dim = rows.dim();
    if channels == 1 {
        return Ok(dim.max(1));
    }
    let first = rows.shape.first() == Some(&channels);
    let last = rows.shape.last() == Some(&channels);
    match (first, last, rows.layout) {
        _ if !dim.is_multiple_of(channels) => Err(()),
        (true, _, None) | (_, _, Some(Layout::ChannelsFirst)) => Ok(dim / channels),
        (false, true, None) | (_, _, Some(Layout::ChannelsLast)) => Ok(1),
        (false, false, None) if rows.shape.len() == 1 => Ok(dim / channels),
        _ => Err(()),
    }
    .map_err(|()| ModelError::Channels { got: channels, shape: bracketed(rows.shape) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(extents: &[isize]) -> Port {
        let extent = |&extent: &isize| match usize::try_from(extent) {
            Ok(extent) => Extent::Fixed(extent),
            Err(_) => Extent::Dynamic("n".to_owned()),
        };
        Port {
            name: "x".to_owned(),
            element: "float32".to_owned(),
            shape: Some(extents.iter().map(extent).collect()),
        }
    }

    fn fit(input: &[isize], row: &[usize], layout: Option<Layout>) -> Result<Fit, ModelError> {
        Fit::new(&port(input), &Rows { shape: row, layout }, 128, None)
    }

    fn placed(fit: &Fit, row: &[f32]) -> Vec<f32> {
        let mut place = vec![f32::NAN; row.len()];
        fit.place(row.iter().copied(), &mut place);
        place
    }

    #[test]
    fn rows_take_the_shape_of_the_input() {
        let cases: [(&[isize], &[usize], &[usize]); 9] = [
            (&[-1, 1, 28, 28], &[784], &[128, 1, 28, 28]),
            (&[-1, 784], &[28, 28], &[128, 784]),
            (&[1, 784], &[28, 28], &[1, 784]),
            (&[-1, -1], &[5], &[128, 5]),
            (&[-1, 3, -1, -1], &[3, 8, 9], &[128, 3, 8, 9]),
            // Without an axis for the batch.
            (&[784], &[784], &[784]),
            (&[-1], &[784], &[784]),
            (&[3, 32, 32], &[3072], &[3, 32, 32]),
            (&[28, 28, 1], &[28, 28], &[28, 28, 1]),
        ];
        for (input, row, expected) in cases {
            assert_eq!(fit(input, row, None).unwrap().shape, expected, "{input:?} {row:?}");
        }
        for (input, row) in [(&[-1, 1, 28, 28][..], &[783][..]), (&[-1, 3, -1, -1], &[3072])] {
            let message = fit(input, row, None).unwrap_err().to_string();
            assert!(message.starts_with("input `x` takes samples of shape ["), "{message}");
        }
    }

    /// Two channels of 1 × 3 pixels.
    #[test]
    fn channels_move_where_the_shapes_or_the_user_say_so() {
        let first = [0.0, 1.0, 2.0, 10.0, 11.0, 12.0];
        let last = [0.0, 10.0, 1.0, 11.0, 2.0, 12.0];
        let layouts = [Layout::ChannelsFirst, Layout::ChannelsLast];
        assert_eq!(placed(&fit(&[-1, 1, 3, 2], &[2, 1, 3], None).unwrap(), &first), last);
        assert_eq!(placed(&fit(&[-1, 2, 1, 3], &[1, 3, 2], None).unwrap(), &last), first);
        assert_eq!(placed(&fit(&[-1, 2, 1, 3], &[2, 1, 3], None).unwrap(), &first), first);
        // A flat row is taken as it is, unless the user says that it is of the other kind.
        assert_eq!(
            placed(&fit(&[-1, 3, 3, 2], &[18], None).unwrap(), &[first, first, first].concat()),
            [first; 3].concat()
        );
        assert!(fit(&[-1, 3, 3, 2], &[18], Some(layouts[0])).unwrap().moves_axes());
        assert!(!fit(&[-1, 3, 3, 2], &[18], Some(layouts[1])).unwrap().moves_axes());
        assert!(fit(&[-1, 2, 3, 3], &[18], Some(layouts[1])).unwrap().moves_axes());
    }

    #[test]
    fn normalizes_one_or_every_channel() {
        let one = Normalization::new(&[0.5, 2.0]).unwrap();
        let rows = Rows { shape: &[2, 2], layout: None };
        let fit = Fit::new(&port(&[-1, 4]), &rows, 1, Some(&one)).unwrap();
        assert_eq!(placed(&fit, &[0.5, 2.5, 4.5, -1.5]), [0.0, 1.0, 2.0, -1.0]);
        let two = Normalization::new(&[0.0, 1.0, 1.0, 2.0]).unwrap();
        let fit = Fit::new(&port(&[-1, 4]), &rows, 1, Some(&two)).unwrap();
        assert_eq!(placed(&fit, &[1.0, 2.0, 3.0, 5.0]), [1.0, 2.0, 1.0, 2.0]);
        let last = Rows { shape: &[1, 3, 2], layout: None };
        let fit = Fit::new(&port(&[-1, 2, 1, 3]), &last, 1, Some(&two)).unwrap();
        assert_eq!(placed(&fit, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), [0.0, 2.0, 4.0, 0.0, 1.0, 2.0]);
        let three = Normalization::new(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
        assert!(Fit::new(&port(&[-1, 4]), &rows, 1, Some(&three)).is_err());
        for wrong in [&[][..], &[1.0], &[0.0, 0.0], &[0.0, -1.0], &[f32::NAN, 1.0], &[0.0, 1.0, 1.0]] {
            assert!(Normalization::new(wrong).is_none(), "{wrong:?}");
        }
    }
}
