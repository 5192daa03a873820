//! Stages of a score that are kept in files: taken as they are where they were made from the same, made otherwise.

use std::fs;
use std::path::{Path, PathBuf};

use spadework::eigen::GeneralizedEigenpairs;
use spadework::{
    Certainty, ConnectedGraph, Diagnostics, Error as CoreError, Graph, GraphPair, Manifold, ManifoldPair,
    Side, SolvedSpectrum, SpadeParams, SpadeReport, graphs_of, scores_of, spectrum_around, spectrum_of,
};
use spadework_io::stages::{
    EigenStage, FOLDER, GraphStage, Recipe, StagedGraphs, eigenpairs_file, graph_files, read_eigenpairs,
    read_graphs, recipes_of_graphs, write_eigenpairs, write_graphs,
};
use spadework_io::{digest, graph_digest, outdated_digest};

use crate::console::Console;
use crate::failure::Failure;

/// Where `score --out` keeps its stages until it is done.
const UNFINISHED: &str = ".unfinished";
const REPLACE_HINT: &str = "--force makes it anew; another folder keeps both";

/// What to do about a stage that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Earlier {
    /// Take it where it was made from the same; otherwise refuse: a user made it and may want it.
    TakeOrRefuse,
    /// Take it where it was made from the same; otherwise make it anew: it is what is left of another call.
    TakeOrReplace,
    /// Make it anew, whatever it is.
    Replace,
}

/// The folder of the stages of one result.
#[derive(Debug)]
pub(crate) struct StageFolder {
    path: PathBuf,
    earlier: Earlier,
    console: Console,
}

/// Graphs in the folder, and whether they were made now.
pub(crate) struct MadeStage {
    pub(crate) graphs: GraphPair,
    pub(crate) diagnostics: Diagnostics,
    /// How they were made; none where another program made them.
    pub(crate) stage: Option<GraphStage>,
}

impl StageFolder {
    /// The stages that the user makes one by one; with `force` those that are there do not count.
    pub(crate) fn of_result(result: &Path, force: bool, console: Console) -> Self {
        let earlier = if force { Earlier::Replace } else { Earlier::TakeOrRefuse };
        Self { path: result.join(FOLDER), earlier, console }
    }

    /// The stages of `score --out`, which are gone when it is done.
    pub(crate) fn of_score(out: &Path, console: Console) -> Self {
        Self { path: out.join(UNFINISHED), earlier: Earlier::TakeOrReplace, console }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the stages that are no longer needed; what cannot be removed is only in the way.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    /// The graphs of both sides, made where they are not there. `complete` adds what only the caller knows.
    pub(crate) fn graphs(
        &self,
        pair: &ManifoldPair<'_>,
        params: &SpadeParams,
        complete: impl FnOnce(&mut GraphStage) -> Result<(), Failure>,
    ) -> Result<MadeStage, Failure> {
        let recipe = graph_recipe(pair, params);
        if let Some(made) = self.stored_graphs(&recipe)? {
            self.console
                .note(&format!("{}: the graphs are there and are not made again", self.path.display()));
            return Ok(made);
        }
        let (graphs, diagnostics) = graphs_of(pair, params, &self.console.monitor())
            .map_err(|error| Failure::of_evaluation(error, params))?;
        let mut stage = GraphStage::new(recipe, &diagnostics);
        complete(&mut stage)?;
        write_graphs(&self.path, &graphs, &stage)?;
        Ok(MadeStage { graphs, diagnostics, stage: Some(stage) })
    }

    /// The graphs of this recipe, where they are there.
    fn stored_graphs(&self, recipe: &Recipe) -> Result<Option<MadeStage>, Failure> {
        let files = graph_files(&self.path);
        if self.earlier == Earlier::Replace {
            remove(&files);
            return Ok(None);
        }
        let found = match read_graphs(&self.path) {
            Ok(Some(found)) => found,
            Ok(None) => return self.clear_single_graph(recipe, &files).map(|()| None),
            Err(error) => return self.put_aside(&files, error.to_string()).map(|()| None),
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
            Err(error) => return self.put_aside(files, error.to_string()),
        };
        let there = files.iter().zip(&recipes).filter(|(file, _)| file.exists());
        let mut reasons = there.filter_map(|(file, made)| made_otherwise(file, made.as_ref(), recipe));
        reasons.next().map_or(Ok(()), |reason| self.put_aside(files, reason))
    }

    /// The graphs of the folder, whoever made them.
    pub(crate) fn any_graphs(&self) -> Result<MadeStage, Failure> {
        let Some(found) = read_graphs(&self.path)? else {
            let [input, output] = graph_files(&self.path);
            let message = format!("{} and {}: expected two graphs", input.display(), output.display());
            return Err(Failure::usage(message)
                .with_hint("`spadework graph --out RESULT` makes them, or takes those of another program"));
        };
        self.take(found)
    }

    fn take(&self, found: StagedGraphs) -> Result<MadeStage, Failure> {
        let StagedGraphs { input, output, stage } = found;
        let [input_file, output_file] = graph_files(&self.path);
        let Some(stage) = stage else {
            let pair = ManifoldPair::new(Manifold::Graph(input), Manifold::Graph(output))
                .map_err(|error| Failure::from(error).about(&self.path.display().to_string()))?;
            let (graphs, diagnostics) = graphs_of(&pair, &SpadeParams::default(), &self.console.monitor())?;
            return Ok(MadeStage { graphs, diagnostics, stage: None });
        };
        let output = connected(output)
            .map_err(|error| Failure::from(error).about(&output_file.display().to_string()))?;
        let diagnostics = stage
            .diagnostics()
            .map_err(|error| Failure::usage(error.to_string()).about(&input_file.display().to_string()))?;
        let graphs = GraphPair::new(input, output)?;
        Ok(MadeStage { graphs, diagnostics, stage: Some(stage) })
    }

    /// The eigenpairs of graphs and the bounds of the first, found where they are not there.
    pub(crate) fn spectrum(
        &self,
        graphs: &GraphPair,
        params: &SpadeParams,
    ) -> Result<SolvedSpectrum, Failure> {
        let recipe = eigen_recipe(graphs, params);
        if let Some(spectrum) = self.stored_spectrum(graphs, &recipe)? {
            let file = eigenpairs_file(&self.path);
            self.console
                .note(&format!("{}: the eigenpairs are there and are not found again", file.display()));
            return Ok(spectrum);
        }
        let spectrum = spectrum_of(graphs, params, &self.console.monitor())
            .map_err(|error| Failure::of_evaluation(error, params))?;
        let stage = EigenStage::new(recipe, &spectrum, params.tolerance, params.seed);
        write_eigenpairs(&self.path, &spectrum, &stage)?;
        Ok(spectrum)
    }

    fn stored_spectrum(
        &self,
        graphs: &GraphPair,
        recipe: &Recipe,
    ) -> Result<Option<SolvedSpectrum>, Failure> {
        let file = eigenpairs_file(&self.path);
        if self.earlier == Earlier::Replace {
            remove(&[file]);
            return Ok(None);
        }
        let found = match read_eigenpairs(&self.path) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(error) => return self.put_aside(&[file], error.to_string()).map(|()| None),
        };
        let made_from = found.stage.as_ref().map(|stage| &stage.made_from);
        if let Some(reason) = made_otherwise(&file, made_from, recipe) {
            return self.put_aside(&[file], reason).map(|()| None);
        }
        let pairs = GeneralizedEigenpairs::restore(graphs, found.eigenpairs)
            .map_err(|error| Failure::from(error).about(&file.display().to_string()))?;
        Ok(found.stage.and_then(|stage| stage.spectrum(pairs)))
    }

    /// The eigenpairs of the folder, whoever found them, with the parameters they were found by. Where they come without
    /// bounds, these are found now, which is the proof of what another program did.
    pub(crate) fn any_spectrum(
        &self,
        graphs: &GraphPair,
        params: SpadeParams,
    ) -> Result<(SolvedSpectrum, SpadeParams), Failure> {
        let file = eigenpairs_file(&self.path);
        let about = |failure: Failure| failure.about(&file.display().to_string());
        let Some(found) = read_eigenpairs(&self.path)? else {
            return Err(about(Failure::usage("expected eigenpairs")).with_hint(
                "`spadework eigen RESULT` finds them, on a cluster `mpirun -n N python -m spadework.slepc RESULT`",
            ));
        };
        let made_from = found.stage.as_ref().map(|stage| &stage.made_from);
        for (name, graph) in [("input_graph", graphs.input()), ("output_graph", graphs.output())] {
            let then = made_from.and_then(|made_from| made_from.get(name));
            if then.is_some_and(|then| then != graph_digest(graph)) {
                let message = then
                    .and_then(outdated_digest)
                    .unwrap_or_else(|| "was found for other graphs than those beside it".to_owned());
                return Err(
                    about(Failure::usage(message)).with_hint("find the eigenpairs again, with --force")
                );
            }
        }
        let pairs = GeneralizedEigenpairs::restore(graphs, found.eigenpairs)
            .map_err(|error| about(Failure::from(error)))?;
        let params = match &found.stage {
            Some(stage) => SpadeParams { tolerance: stage.tolerance, seed: stage.seed, ..params },
            None => params,
        };
        let params = SpadeParams { eigenpairs: pairs.len(), ..params };
        if let Some(spectrum) = found.stage.and_then(|stage| stage.spectrum(pairs.clone())) {
            return Ok((spectrum, params));
        }
        self.console.note(&format!("{}: bounds of the model score are found now", file.display()));
        let spectrum = spectrum_around(graphs, pairs, &params, &self.console.monitor())
            .map_err(|error| about(Failure::from(error)))?;
        Ok((spectrum, params))
    }

    /// Removes files that are not what is asked for, or refuses to.
    fn put_aside(&self, files: &[PathBuf], reason: String) -> Result<(), Failure> {
        if self.earlier == Earlier::TakeOrRefuse {
            return Err(Failure::usage(reason).with_hint(REPLACE_HINT));
        }
        self.console.note(&format!("{reason}; it is made anew"));
        remove(files);
        Ok(())
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
fn made_otherwise(file: &Path, made_from: Option<&Recipe>, recipe: &Recipe) -> Option<String> {
    let difference = match made_from {
        Some(made_from) => made_from.difference(recipe)?.to_string(),
        None => "another program wrote it".to_owned(),
    };
    Some(format!("{}: was made from something else: {difference}", file.display()))
}

/// All stages, kept in the folder of a result until it is written.
pub(crate) fn evaluate_in_stages(
    pair: &ManifoldPair<'_>,
    params: &SpadeParams,
    folder: &StageFolder,
) -> Result<SpadeReport, Failure> {
    // What concerns later stages is found out before the search, which may take hours.
    match (pair.input(), pair.output()) {
        (Manifold::Graph(_), Manifold::Graph(_)) => params.check_for_graphs(pair.len())?,
        _ => params.check_for(pair.len())?,
    }
    let MadeStage { graphs, mut diagnostics, .. } = folder.graphs(pair, params, |_| Ok(()))?;
    let spectrum = folder.spectrum(&graphs, params)?;
    // Stages of an earlier call know what concerned them.
    diagnostics.params = params.clone();
    scores_of(graphs, diagnostics, spectrum, &folder.console.monitor())
        .map_err(|error| Failure::of_evaluation(error, params))
}

/// On what the graphs of a model depend.
fn graph_recipe(pair: &ManifoldPair<'_>, params: &SpadeParams) -> Recipe {
    let side = |manifold: &Manifold<'_>| match manifold {
        Manifold::Samples(samples) => digest(samples),
        Manifold::Graph(graph) => graph_digest(graph),
    };
    Recipe::new()
        .with("inputs", side(pair.input()))
        .with("outputs", side(pair.output()))
        .with("neighbors", params.neighbors)
        .with("search", params.search)
        .with("graph", params.graph)
        .with("weights", params.weights)
        .with("connectivity", params.connectivity)
        .with("seed", params.seed)
}

/// On what the eigenpairs of graphs depend.
fn eigen_recipe(graphs: &GraphPair, params: &SpadeParams) -> Recipe {
    Recipe::new()
        .with("input_graph", graph_digest(graphs.input()))
        .with("output_graph", graph_digest(graphs.output()))
        .with("eigenpairs", params.eigenpairs)
        .with("solver", params.solver)
        .with("tolerance", params.tolerance)
        .with("bounds", if params.certainty == Certainty::Certified { "certified" } else { "probable" })
        .with("seed", params.seed)
}
