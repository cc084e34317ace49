"""The field table holds the whole closure of a PodTemplate, and says what the Kubernetes types say."""

from __future__ import annotations

import pytest

from moorage.core.template import schema
from moorage.core.template.schema import FieldType


@pytest.mark.parametrize(
    ("type_name", "field", "expected"),
    [
        ("PodTemplate", "template", FieldType("PodTemplateSpec")),
        ("PodSpec", "containers", FieldType("Container", "[]", required=True)),
        ("PodSpec", "nodeSelector", FieldType("", "{}")),
        ("PodSpec", "overhead", FieldType("q", "{}")),
        ("PodSpec", "hostUsers", FieldType("b")),
        ("PodSpec", "terminationGracePeriodSeconds", FieldType("l")),
        ("ContainerPort", "containerPort", FieldType("i", required=True)),
        ("HTTPGetAction", "port", FieldType("p", required=True)),
        ("Container", "imagePullPolicy", FieldType("", values=("Always", "IfNotPresent", "Never"))),
        ("Toleration", "operator", FieldType("", values=("Equal", "Exists", "Gt", "Lt"))),
        ("ObjectMeta", "creationTimestamp", FieldType("t")),
        ("ManagedFieldsEntry", "fieldsV1", FieldType("x")),
    ],
)
def test_a_field_has_its_kubernetes_type(type_name: str, field: str, expected: FieldType) -> None:
    assert schema.fields(type_name)[field] == expected


def test_the_table_is_closed() -> None:
    referred = {field.kind for name in schema.types() for field in schema.fields(name).values()}
    assert referred - schema.LEAVES <= schema.types()
    assert schema.types() - referred == {schema.ROOT}


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (("template", "spec", "containers", 0, "image"), "template.spec.containers[0].image"),
        (("template", "metadata", "labels", "a.b/c"), "template.metadata.labels[a.b/c]"),
        (
            ("template", "spec", "containers", 1, "resources", "limits", "cpu"),
            "template.spec.containers[1].resources.limits[cpu]",
        ),
        (("nobody", "knows", 3, "this"), "nobody.knows[3].this"),
        ((), ""),
    ],
)
def test_a_path_is_spelt_as_kubernetes_does(parts: tuple[str | int, ...], path: str) -> None:
    assert schema.spell(parts) == path


def test_a_type_outside_the_closure_is_unknown() -> None:
    with pytest.raises(KeyError):
        schema.fields("Deployment")
