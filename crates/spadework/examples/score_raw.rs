//! scratch
use spadework::*;
fn read(p: &str) -> Vec<f32> {
    std::fs::read(p).unwrap().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: usize = a[3].parse().unwrap();
    let k: usize = a[4].parse().unwrap();
    let r: usize = a[5].parse().unwrap();
    let (x, y) = (read(&a[1]), read(&a[2]));
    let s = PairedSamples::new(
        Samples::from_f32(n, x.len() / n, x).unwrap(),
        Samples::from_f32(n, y.len() / n, y).unwrap(),
    )
    .unwrap();
    let params = SpadeParams {
        neighbors: k,
        eigenpairs: r,
        certainty: if a.len() > 6 { Certainty::Certified } else { Certainty::Probable },
        ..Default::default()
    };
    let t = std::time::Instant::now();
    match evaluate(&s, &params, &Silent) {
        Ok(rep) => {
            println!(
                "{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
                rep.eigenpairs.values(),
                rep.eigenpairs.residuals(),
                rep.enclosure,
                rep.eigenpairs.info(),
                rep.diagnostics
            );
        }
        Err(e) => println!("{e}"),
    }
    println!("{:?}", t.elapsed());
}
