//! The steps of a score, stored in files between runs. A stored step is reused if it was made from the same data and
//! parameters.
//!
//! A [`Store`] is a folder. To the core it is a [`Keeper`]: [`evaluate_with`](spadework::pipeline::evaluate_with) asks it before
//! every step and passes it the result of the step. `score --out` stores its steps in a hidden folder until the result is
//! written, so that an interrupted run can continue. `graph`, `eigen` and `scores` run the steps one by one, with files that
//! other programs read and write too (`files.rs`).

mod files;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use spadework::eigen::GeneralizedEigenpairs;
use spadework::graph::ConnectedGraph;
use spadework::pipeline::{KeepNothing, Keeper, ModelGraphs, SolvedSpectrum, graphs_of, spectrum_around};
use spadework::samples::Side;
use spadework::{Error as CoreError, Graph, GraphPair, ManifoldPair, SpadeParams};
use spadework_document::solver_named;
use spadework_document::stages::{EigenStage, GraphStage, Recipe};
use spadework_io::output::{FolderLock, check_no_link};
use spadework_io::{check_mapped_files, check_regular, graph_digest, outdated_digest};

use self::files::{
    StoredGraphs, read_eigenpairs, read_graphs, recipes_of_graphs, write_eigenpairs, write_graphs,
};
pub(crate) use self::files::{eigenpairs_file, graph_files};
use crate::failure::Failure;
use crate::observer::Session;
use crate::parts::UNFINISHED;
use crate::sides::Sides;
use crate::usage::{OtherStage, Usage};
use crate::wording::NoteCode;

/// The folder of the stages inside that of a result.
const STAGES: &str = "stages";

/// What to do about a stage that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Earlier {
    /// Take it where it was made from the same; otherwise refuse: a user made it and may want it.
    TakeOrRefuse,
    /// Take it where it was made from the same; otherwise make it again: it is what another call left.
    TakeOrReplace,
    /// Make it again, whatever it is.
    Replace,
}

/// The folder of the stages of one result.
pub(crate) struct Store<'a> {
    path: PathBuf,
    earlier: Earlier,
    session: &'a Session<'a>,
    /// What the graphs are made of; none if they are there already.
    sides: Option<&'a Sides<'a>>,
    /// What the graphs are made from, with the digests of both sides.
    graph_recipe: OnceLock<Recipe>,
    /// What the eigenpairs are made from, with the digests of both graphs.
    eigen_recipe: OnceLock<Recipe>,
    /// How the graphs were made, once they are there.
    graph_stage: OnceLock<GraphStage>,
    /// No other run makes stages in the same folder.
    _lock: FolderLock,
}

/// Graphs of a folder, whichever program made them.
pub(crate) struct FoundGraphs {
    pub(crate) graphs: ModelGraphs,
    /// How they were made; none if another program made them.
    pub(crate) stage: Option<GraphStage>,
}

impl<'a> Store<'a> {
    /// The stages that a user makes one by one; with `force` those that are there do not count.
    pub(crate) fn of_result(result: &Path, force: bool, session: &'a Session<'a>) -> Result<Self, Failure> {
        let earlier = if force { Earlier::Replace } else { Earlier::TakeOrRefuse };
        Self::new(result, STAGES, earlier, session)
    }

    /// The steps of `score --out`, which are gone when it is done.
    pub(crate) fn of_score(
        out: &Path,
        sides: &'a Sides<'a>,
        session: &'a Session<'a>,
    ) -> Result<Self, Failure> {
        Ok(Self::new(out, UNFINISHED, Earlier::TakeOrReplace, session)?.with_sides(sides))
    }

    fn new(result: &Path, folder: &str, earlier: Earlier, session: &'a Session<'a>) -> Result<Self, Failure> {
        let path = result.join(folder);
        check_no_link(&path)?;
        // Neither waited for nor removed.
        graph_files(&path)
            .iter()
            .chain([&eigenpairs_file(&path)])
            .try_for_each(|file| check_regular(file))?;
        Ok(Self {
            path,
            earlier,
            session,
            sides: None,
            graph_recipe: OnceLock::new(),
            eigen_recipe: OnceLock::new(),
            graph_stage: OnceLock::new(),
            _lock: FolderLock::acquire(result)?,
        })
    }

    /// The same for graphs of these sides.
    pub(crate) fn with_sides(self, sides: &'a Sides<'a>) -> Self {
        Self { sides: Some(sides), ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How the graphs were made; none if another program made them.
    pub(crate) fn into_graph_stage(self) -> Option<GraphStage> {
        self.graph_stage.into_inner()
    }

    /// Removes what is no longer needed; what cannot be removed is only in the way.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    /// On what the graphs of a model depend.
    fn graph_recipe(&self, sides: &Sides<'_>, params: &SpadeParams) -> &Recipe {
        self.graph_recipe.get_or_init(|| {
            Recipe::new()
                .with("inputs", sides.input.digest())
                .with("outputs", sides.output.digest())
                .with("neighbors", params.neighbors)
                .with("input_metric", params.input_metric)
                .with("output_metric", params.output_metric)
                .with("standardize", params.standardize)
                .with("ties", params.ties)
                .with("search", params.search)
                .with("graph", params.graph)
                .with("weights", params.weights)
                .with("connectivity", params.connectivity)
                .with("seed", params.seed)
        })
    }

    /// On what the eigenpairs of graphs depend.
    fn eigen_recipe(&self, graphs: &GraphPair, params: &SpadeParams) -> &Recipe {
        self.eigen_recipe.get_or_init(|| {
            Recipe::new()
                .with("input_graph", graph_digest(graphs.input()))
                .with("output_graph", graph_digest(graphs.output()))
                .with("eigenpairs", params.eigenpairs)
                .with("solver", params.solver)
                .with("tolerance", params.tolerance)
                .with("bounds", params.certainty)
                .with("seed", params.seed)
        })
    }

    /// The graphs of this recipe, where they are there.
    fn graphs_of_recipe(&self, recipe: &Recipe) -> Result<Option<FoundGraphs>, Failure> {
        let files = graph_files(&self.path);
        if self.earlier == Earlier::Replace {
            remove(&files);
            return Ok(None);
        }
        let found = match read_graphs(&self.path) {
            Ok(Some(found)) => found,
            Ok(None) => return self.clear_single_graph(recipe, &files).map(|()| None),
            Err(error) => return self.put_aside(&files, broken(&error)).map(|()| None),
        };
        match made_otherwise(&files[0], found.stage.as_ref().map(|stage| &stage.made_from), recipe) {
            None => self.take(found).map(Some),
            Some(reason) => self.put_aside(&files, reason).map(|()| None),
        }
    }

    /// One graph of two is what a call leaves that was cut off between them, or somebody's own.
    fn clear_single_graph(&self, recipe: &Recipe, files: &[PathBuf; 2]) -> Result<(), Failure> {
        let recipes = match recipes_of_graphs(&self.path) {
            Ok(recipes) => recipes,
            Err(error) => return self.put_aside(files, broken(&error)),
        };
        let there = files.iter().zip(&recipes).filter(|(file, _)| file.exists());
        let mut reasons = there.filter_map(|(file, made)| made_otherwise(file, made.as_ref(), recipe));
        reasons.next().map_or(Ok(()), |reason| self.put_aside(files, reason))
    }

    /// The graphs of the folder, whichever program made them.
    pub(crate) fn any_graphs(&self) -> Result<FoundGraphs, Failure> {
        let Some(found) = read_graphs(&self.path)? else {
            let [input, output] = graph_files(&self.path);
            return Err(Usage::NoGraphs { input, output }.into());
        };
        self.take(found)
    }

    fn take(&self, found: StoredGraphs) -> Result<FoundGraphs, Failure> {
        let StoredGraphs { input, output, stage } = found;
        let [input_file, output_file] = graph_files(&self.path);
        let Some(stage) = stage else {
            let pair = ManifoldPair::new(input, output)
                .map_err(|error| Failure::from(error).about_file(&self.path))?;
            let graphs = graphs_of(&pair, &SpadeParams::default(), &KeepNothing, self.session.monitor())?;
            return Ok(FoundGraphs { graphs, stage: None });
        };
        let output = connected(output).map_err(|error| Failure::from(error).about_file(&output_file))?;
        let diagnostics = stage.diagnostics().map_err(|error| {
            Failure::from(Usage::UnknownWord { reason: error.to_string() }).about_file(&input_file)
        })?;
        let graphs = ModelGraphs::new(GraphPair::new(input, output)?, diagnostics);
        Ok(FoundGraphs { graphs, stage: Some(stage) })
    }

    /// The eigenpairs of the folder, whichever program computed them, with the parameters they were found by. Where they come without
    /// bounds, these are found now, which proves what another program did.
    pub(crate) fn any_spectrum(
        &self,
        graphs: &GraphPair,
        params: SpadeParams,
    ) -> Result<(SolvedSpectrum, SpadeParams), Failure> {
        let file = eigenpairs_file(&self.path);
        let about = |failure: Failure| failure.about_file(&file);
        let Some(found) = read_eigenpairs(&self.path)? else {
            return Err(about(Usage::NoEigenpairs.into()));
        };
        let made_from = found.stage.as_ref().map(|stage| &stage.made_from);
        for (name, graph) in [("input_graph", graphs.input()), ("output_graph", graphs.output())] {
            let then = made_from.and_then(|made_from| made_from.get(name));
            if let Some(then) = then.filter(|then| *then != graph_digest(graph)) {
                let outdated = outdated_digest(then).map(|reason| Usage::OutdatedEigenpairs { reason });
                return Err(about(outdated.unwrap_or(Usage::EigenpairsOfOtherGraphs).into()));
            }
        }
        let pairs = GeneralizedEigenpairs::restore(graphs, found.eigenpairs)
            .map_err(|error| about(Failure::from(error)))?;
        let params = match &found.stage {
            Some(stage) => as_requested(stage, params),
            None => params,
        };
        let params = params.with_eigenpairs(pairs.len());
        if let Some(spectrum) = found.stage.and_then(|stage| stage.spectrum(pairs.clone())) {
            return Ok((spectrum, params));
        }
        self.session.mention(
            NoteCode::BoundsFoundNow,
            format!("{}: bounds of the SPADE score are computed now", file.display()),
        );
        let spectrum = spectrum_around(graphs, pairs, &params, self.session.monitor())
            .map_err(|error| about(Failure::from(error)))?;
        Ok((spectrum, params))
    }

    /// Removes files that are not what is asked for, or refuses to.
    fn put_aside(&self, files: &[PathBuf], reason: Failure) -> Result<(), Failure> {
        if self.earlier == Earlier::TakeOrRefuse {
            return Err(reason);
        }
        let reason = reason.message(self.session.voice());
        self.session.mention(NoteCode::StageReplaced, format!("{reason}; it is replaced"));
        remove(files);
        Ok(())
    }
}

impl Keeper for Store<'_> {
    type Error = Failure;

    fn stored_graphs(
        &self,
        _: &ManifoldPair<'_>,
        params: &SpadeParams,
    ) -> Result<Option<ModelGraphs>, Failure> {
        let Some(sides) = self.sides else { return Ok(None) };
        let Some(found) = self.graphs_of_recipe(self.graph_recipe(sides, params))? else { return Ok(None) };
        self.session.mention(
            NoteCode::StageTaken,
            format!("{}: the graphs already exist and are not computed again", self.path.display()),
        );
        if let Some(stage) = found.stage {
            let _ = self.graph_stage.set(stage);
        }
        Ok(Some(found.graphs))
    }

    fn keep_graphs(
        &self,
        _: &ManifoldPair<'_>,
        params: &SpadeParams,
        made: &ModelGraphs,
    ) -> Result<(), Failure> {
        let Some(sides) = self.sides else { return Ok(()) };
        let mut stage = GraphStage::new(self.graph_recipe(sides, params).clone(), &made.diagnostics);
        // What a user makes step by step must say what later steps need; what `score` keeps for itself is asked again.
        if self.earlier != Earlier::TakeOrReplace {
            stage.sources.data = sides.document();
            stage.sources.model = sides.model.cloned();
            stage.sources.corruption = sides.corruption.cloned();
            stage.labels = sides.labels_place();
        }
        // What was made of a file that changed meanwhile would be taken for that of its former numbers.
        check_mapped_files()?;
        write_graphs(&self.path, &made.graphs, &stage)?;
        if let Some(parts) = self.session.parts() {
            parts.remove("neighbors");
        }
        let _ = self.graph_stage.set(stage);
        Ok(())
    }

    fn stored_spectrum(
        &self,
        graphs: &GraphPair,
        params: &SpadeParams,
    ) -> Result<Option<SolvedSpectrum>, Failure> {
        let recipe = self.eigen_recipe(graphs, params);
        let file = eigenpairs_file(&self.path);
        if self.earlier == Earlier::Replace {
            remove(&[file]);
            return Ok(None);
        }
        let found = match read_eigenpairs(&self.path) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(error) => return self.put_aside(&[file], broken(&error)).map(|()| None),
        };
        let made_from = found.stage.as_ref().map(|stage| &stage.made_from);
        if let Some(reason) = made_otherwise(&file, made_from, recipe) {
            return self.put_aside(&[file], reason).map(|()| None);
        }
        let pairs = GeneralizedEigenpairs::restore(graphs, found.eigenpairs)
            .map_err(|error| Failure::from(error).about_file(&file))?;
        let Some(spectrum) = found.stage.and_then(|stage| stage.spectrum(pairs)) else { return Ok(None) };
        self.session.mention(
            NoteCode::StageTaken,
            format!("{}: the eigenpairs already exist and are not computed again", file.display()),
        );
        Ok(Some(spectrum))
    }

    fn keep_spectrum(
        &self,
        graphs: &GraphPair,
        params: &SpadeParams,
        solved: &SolvedSpectrum,
    ) -> Result<(), Failure> {
        let recipe = self.eigen_recipe(graphs, params).clone();
        let stage = EigenStage::new(recipe, solved, params.tolerance, params.seed);
        Ok(write_eigenpairs(&self.path, solved, &stage)?)
    }
}

/// An output graph in one piece.
fn connected(output: Graph) -> spadework::Result<ConnectedGraph> {
    let nodes = output.nodes();
    ConnectedGraph::new(output).map_err(|components| CoreError::GivenDisconnected {
        side: Side::Output,
        components: components.count(),
        largest: components.largest(),
        nodes,
    })
}

/// Missing files are as good as removed ones, and one that cannot be removed cannot be written either.
fn remove(files: &[PathBuf]) {
    for file in files {
        let _ = fs::remove_file(file);
    }
}

/// What is wrong with a file that was not made by this recipe.
fn made_otherwise(file: &Path, made_from: Option<&Recipe>, recipe: &Recipe) -> Option<Failure> {
    let reason = match made_from {
        Some(made_from) => OtherStage::Differs(made_from.difference(recipe)?),
        None => OtherStage::OfAnotherProgram,
    };
    Some(Failure::from(Usage::OtherStage { reason }).about_file(file))
}

/// A file that cannot be read as a stage.
fn broken(error: &spadework_document::Error) -> Failure {
    Usage::BrokenStage { reason: error.to_string() }.into()
}

/// The parameters with what was asked of the eigenpairs when they were found.
fn as_requested(stage: &EigenStage, params: SpadeParams) -> SpadeParams {
    let solver = stage.made_from.get("solver").and_then(|word| solver_named(word).ok());
    let solver = solver.unwrap_or(params.solver);
    let certainty = stage.made_from.get("bounds").and_then(|word| word.parse().ok()).unwrap_or_default();
    params.with_tolerance(stage.tolerance).with_seed(stage.seed).with_solver(solver).with_certainty(certainty)
}
