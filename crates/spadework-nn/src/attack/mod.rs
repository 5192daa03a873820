//! Attacks: how far a network can be trusted near its samples, by gradients and by queries.
//!
//! An attack is a series of methods, one file each: projected gradient descent (`pgd.rs`, which robust training uses too), APGD
//! (`apgd.rs`), and Square (`square.rs`), which needs no gradient. Each method gets the samples that the previous ones did
//! not break. A sample counts as broken as soon as any visited point is classified wrongly. It is then left out, which does
//! not affect other samples.
//!
//! Read [`attack`] first, then `round.rs` for what methods share, then a method, and `ball.rs` for the step.

mod apgd;
mod ball;
mod budget;
mod objective;
mod pgd;
mod report;
mod round;
mod square;

use spadework::Monitor;
use spadework::monitor::Stage;

pub use apgd::{Aim, Apgd};
pub use ball::Norm;
pub(crate) use ball::{Balls, starts};
pub use budget::Budget;
pub use objective::Objective;
pub(crate) use objective::{Rivals, class_column, cross_entropy, predicted};
pub use pgd::{Climb, Pgd};
pub use report::{AttackReport, Broken, Outcome};
use round::Round;
pub use square::Square;

use crate::data::Examples;
use crate::network::{Frozen, to_host};
use crate::{Error, Result};

/// One attack of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// Projected gradient descent.
    Pgd(Pgd),
    /// Projected gradient descent that chooses its steps.
    Apgd(Apgd),
    /// A random search that needs only outputs.
    Square(Square),
}

impl Method {
    /// The name of the attack in results.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Pgd(_) => "pgd",
            Method::Apgd(apgd) => apgd.name(),
            Method::Square(_) => "square",
        }
    }

    fn check(&self) -> Result<()> {
        match self {
            Method::Pgd(pgd) => pgd.check(),
            Method::Apgd(apgd) => apgd.check(),
            Method::Square(square) => square.check(),
        }
    }

    fn run(&self, round: &mut Round<'_>) -> Result<()> {
        match self {
            Method::Pgd(pgd) => pgd.run(round),
            Method::Apgd(apgd) => apgd.run(round),
            Method::Square(square) => square.run(round),
        }
    }
}

/// How a network is attacked.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackParams {
    /// The attacks, each on the samples that the previous ones did not break.
    pub methods: Vec<Method>,
    /// Seed of the starts and of random moves.
    pub seed: u64,
    /// Samples that are attacked at once.
    pub batch: usize,
}

impl Default for AttackParams {
    fn default() -> Self {
        Self { methods: vec![Method::Pgd(Pgd::default())], seed: 0, batch: 250 }
    }
}

impl AttackParams {
    /// One attack alone.
    pub fn only(method: Method) -> Self {
        Self { methods: vec![method], ..Self::default() }
    }

    /// Projected gradient descent.
    pub fn pgd(climb: Climb, restarts: usize) -> Self {
        Self::only(Method::Pgd(Pgd { climb, restarts }))
    }

    /// All attacks without a step size: APGD by cross entropy, by DLR and toward each target, then Square. This is the
    /// combination of Croce and Hein (2020), without FAB and with an additional APGD by DLR.
    pub fn auto(apgd: &Apgd, square: &Square) -> Self {
        let aims = [
            Aim::Away(Objective::CrossEntropy),
            Aim::Away(Objective::Dlr),
            Aim::Toward { targets: apgd.aim.targets() },
        ];
        let mut methods: Vec<Method> =
            aims.into_iter().map(|aim| Method::Apgd(Apgd { aim, ..apgd.clone() })).collect();
        methods.push(Method::Square(square.clone()));
        Self { methods, ..Self::default() }
    }

    /// # Errors
    /// When a value is outside its range.
    pub fn check(&self) -> Result<()> {
        if self.batch == 0 {
            return Err(Error::parameter("batch", "at least 1", self.batch));
        }
        self.methods.iter().try_for_each(Method::check)
    }
}

/// Attacks every example, each within its own budget. The network is only run, never changed.
///
/// # Errors
/// When the examples, the budget or the parameters do not fit, or the monitor asks to stop.
pub fn attack(
    model: &Frozen,
    examples: &Examples,
    budget: &Budget,
    params: &AttackParams,
    monitor: &dyn Monitor,
) -> Result<AttackReport> {
    params.check()?;
    examples.check_box()?;
    model.check_size(examples.size())?;
    if budget.epsilons().len() != examples.len() {
        return Err(Error::Count {
            what: "values of epsilon",
            expected: examples.len(),
            got: budget.epsilons().len(),
        });
    }
    monitor.begin(Stage::Named("attack"));
    let mut report = AttackReport { outcomes: Vec::new(), adversarial: examples.samples().to_vec() };
    let mut done = 0;
    while done < examples.len() {
        let batch = done..examples.len().min(done + params.batch);
        done = batch.end;
        let mut round = Round::new(model, (examples, budget), params.seed, batch, &mut report, monitor);
        params.methods.iter().try_for_each(|method| method.run(&mut round))?;
        monitor.progress(done as u64, examples.len() as u64);
    }
    Ok(report)
}

impl Frozen {
    /// The share of examples whose class is predicted.
    ///
    /// # Errors
    /// When the examples do not fit the network.
    pub fn accuracy(&self, examples: &Examples) -> Result<f64> {
        self.check_size(examples.size())?;
        let outputs = self.outputs(examples.samples())?;
        let rows = outputs.chunks(self.classes()).zip(examples.labels());
        Ok(rows.filter(|(row, label)| predicted(row) == **label).count() as f64 / examples.len() as f64)
    }

    /// The gradient of the loss of each example with respect to its values.
    ///
    /// # Errors
    /// When the examples do not fit the network.
    pub fn loss_gradient(&self, examples: &Examples, objective: Objective) -> Result<Vec<f32>> {
        self.check_size(examples.size())?;
        let rivals = Rivals::of_labels(examples.labels(), self.device());
        let (_, gradient) =
            self.input_gradient(self.rows(examples.samples()), |outputs| objective.sum(outputs, &rivals));
        Ok(to_host(gradient))
    }
}
