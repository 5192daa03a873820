//! The one place where the size of a perturbation is read.

/// A number, or a fraction of two: pixels are counted in steps of 1/255. None where it is neither, or not finite; whether the sign makes sense is for the caller to
/// say.
///
/// ```
/// use spadework_probe::parse_radius;
/// assert_eq!(parse_radius("8/255"), Some(8.0 / 255.0));
/// assert_eq!(parse_radius("1e-1"), Some(0.1));
/// assert_eq!(parse_radius("-0.5"), Some(-0.5));
/// assert_eq!([parse_radius("1/0"), parse_radius("1/2/3"), parse_radius("inf"), parse_radius("")], [None; 4]);
/// ```
pub fn parse_radius(text: &str) -> Option<f64> {
    let value = match text.split_once('/') {
        None => text.parse().ok()?,
        Some((above, below)) => above.parse::<f64>().ok()? / below.parse::<f64>().ok()?,
    };
    value.is_finite().then_some(value)
}
