//! Between which numbers samples stay.

/// The numbers of samples stay between these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) least: f32,
    pub(crate) most: f32,
}

impl Range {
    /// 0 to 1 where all numbers lie in it, as those of images do; otherwise from the least of them to the largest.
    pub(crate) fn of(values: impl Iterator<Item = f32>) -> Self {
        let unit = Self { least: 0.0, most: 1.0 };
        let mut found = Self { least: f32::INFINITY, most: f32::NEG_INFINITY };
        for value in values {
            found = Self { least: found.least.min(value), most: found.most.max(value) };
        }
        if found.least >= unit.least && found.most <= unit.most { unit } else { found }
    }

    pub(crate) fn clamp(self, value: f32) -> f32 {
        value.clamp(self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_stay_between_0_and_1() {
        assert_eq!(Range::of([0.2, 0.7].into_iter()), Range { least: 0.0, most: 1.0 });
        assert_eq!(Range::of([-0.5, 3.0].into_iter()), Range { least: -0.5, most: 3.0 });
    }
}
