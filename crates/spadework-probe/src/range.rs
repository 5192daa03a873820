//! The range of numbers that probes stay in.

/// The numbers of samples stay between these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) least: f32,
    pub(crate) most: f32,
}

impl Range {
    /// Of no number yet.
    pub(crate) const NOTHING: Self = Self { least: f32::INFINITY, most: f32::NEG_INFINITY };

    /// 0 to 1 where all numbers lie in it, as those of images do; otherwise from the least of them to the largest.
    pub(crate) fn of(values: impl Iterator<Item = f32>) -> Self {
        let unit = Self { least: 0.0, most: 1.0 };
        let found = values.fold(Self::NOTHING, Self::including);
        if found.least >= unit.least && found.most <= unit.most { unit } else { found }
    }

    /// The least range with this number in it too.
    pub(crate) fn including(self, value: f32) -> Self {
        Self { least: self.least.min(value), most: self.most.max(value) }
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
