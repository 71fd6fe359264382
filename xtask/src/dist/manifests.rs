//! The files for Kubernetes and for compose.
//!
//! The numbers that must fit together are compared as text, which needs no tool. `dist --check` also renders the files
//! with their own tools.

use super::program::{Tool, prepare, tool};
use super::{VERSION, expect, files, source};
use crate::tools::{StepResult, answers};

/// The kinds that the example for Kubernetes consists of.
const KINDS: &[&str] = &[
    "ConfigMap",
    "Deployment",
    "Ingress",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "ScaledObject",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
];

/// Compares versions and times.
pub(super) fn compare() -> StepResult {
    let compose = files::read(&source("compose/compose.yaml"))?;
    expect(compose.contains(&format!("turno:{VERSION}}}")), "compose uses the version of the program")?;
    let example = files::read(&source("kubernetes/example/kustomization.yaml"))?;
    expect(example.contains(&format!("newTag: {VERSION}\n")), "the example for Kubernetes uses it too")?;

    let deployment = files::read(&source("kubernetes/base/deployment.yaml"))?;
    let grace = number_after(&deployment, "terminationGracePeriodSeconds: ").unwrap_or(0);
    let drain = number_after(&deployment, "name: TURNO_STOP_DRAIN_MS\n              value: \"").unwrap_or(u64::MAX / 2);
    for settings in ["kubernetes/base/turno.toml", "kubernetes/example/turno.toml"] {
        let stop = number_after(&files::read(&source(settings))?, "stop_grace_ms = ").unwrap_or(u64::MAX / 2);
        let claim =
            format!("a pod may take {grace} s, longer than drain and grace of {settings} ({drain} + {stop} ms)");
        expect(grace * 1000 > drain + stop, &claim)?;
    }
    Ok(())
}

/// Renders the files with their own tools.
pub(super) fn render() -> StepResult {
    prepare(&["caddy", "docker-compose"])?;
    kubernetes()?;
    compose()
}

fn kubernetes() -> StepResult {
    let render = |folder: &str| tool("kubectl").arg("kustomize").arg(source(folder)).capture();
    let base = render("kubernetes/base")?;
    expect(!base.contains("ServiceMonitor") && !base.contains("ScaledObject"), "the base needs no operator")?;
    let example = render("kubernetes/example")?;
    let mut kinds: Vec<&str> = example.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    kinds.sort_unstable();
    expect(kinds == KINDS, &format!("the example has every kind once: {}", kinds.join(", ")))?;
    let deployment = example.split("---\n").find(|document| document.contains("kind: Deployment")).unwrap_or_default();
    for line in ["runAsNonRoot: true", "path: /healthz", "path: /readyz", "name: TURNO_METRICS_LISTEN"] {
        expect(deployment.contains(line), &format!("the Deployment says `{line}`"))?;
    }
    expect(!deployment.contains("replicas:"), "KEDA alone sets the number of replicas")?;
    let budget =
        base.split("---\n").find(|document| document.contains("kind: PodDisruptionBudget")).unwrap_or_default();
    expect(budget.contains("matchLabels:"), "the PodDisruptionBudget selects the servers")
}

fn compose() -> StepResult {
    // Docker's own plugin if it is installed, else Debian's program.
    let plugin = answers("docker", &["compose", "version"]);
    let command: Tool = if plugin { tool("docker").arg("compose") } else { tool("docker-compose") };
    let command = command.arg("--env-file").arg(source("compose/env.example"));
    let rendered = command.arg("--file").arg(source("compose/compose.yaml")).arg("config").capture()?;
    for service in ["postgres", "turno-1", "turno-2", "proxy"] {
        expect(rendered.contains(&format!("\n  {service}:\n")), &format!("compose has the service {service}"))?;
    }
    let caddy = tool("caddy").args(["validate", "--adapter", "caddyfile", "--config"]);
    let accepted = caddy.arg(source("compose/Caddyfile")).env("TURNO_HOST", "localhost").output()?;
    expect(accepted.status.success(), "caddy accepts the Caddyfile")
}

/// Returns the number that follows a text.
fn number_after(text: &str, before: &str) -> Option<u64> {
    let rest = text.split(before).nth(1)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_after_a_text_is_found() {
        assert_eq!(number_after("a: 30\nb: 40", "b: "), Some(40));
        assert_eq!(number_after("a: x", "a: "), None);
        assert_eq!(number_after("a: 1", "c: "), None);
    }
}
