"""The OpenAPI 3.1 document: made of the table of operations and of the types they use."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

import lexbandit
from lexbandit.checks import LARGEST_REWARD
from lexbandit.contexts import Category, Cycle, Feature, Flag, Number, Vector
from lexbandit.objectives import Objective
from lexbandit.service.definition import ARM_PATTERN, LONGEST_ARM, NO_ARMS
from lexbandit.service.engine.point import LONGEST_ID, longest_text
from lexbandit.service.http.operations import LINES, NEXT, Operation
from lexbandit.service.http.problems import KINDS, MEDIA_TYPE, ProblemDetails
from lexbandit.service.http.schemas import MOST_ROWS, Rewards
from lexbandit.service.http.server import JSON

if TYPE_CHECKING:
    from lexbandit.service.engine.point import Point

_ALWAYS = (500,)
_WITH_ROLE = (401, 403, 429)
_WITH_BODY = (400, 413, 415, 422)
# What an answer leads to: the rewards of the decision that was made.
_LINKS = {
    "decide": {
        "rewards": {
            "operationId": "reward",
            "parameters": {"point": "$request.path.point", "id": "$response.body#/id"},
        }
    }
}
_REFERENCE = "#/components/schemas/{name}"


def document(operations: Iterable[Operation], points: Mapping[str, "Point"]) -> dict[str, Any]:
    """Return the document of an API that serves these points."""
    operations = list(operations)
    schemas, components = _schemas(operations)
    schemas[id(Rewards)] = {"$ref": _REFERENCE.format(name="Rewards")}
    _fill_in(components, points)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        described = _operation(operation, schemas, sorted(points))
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lexbandit",
            "version": lexbandit.__version__,
            "description": "Decisions by objectives in order of priority, learned from rewards.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _types(operation: Operation) -> list[Any]:
    given = [types for types in operation.gives.values() if not isinstance(types, str)]
    return [*operation.takes, *(type for types in given for type in _tuple(types))]


def _tuple(types: Any) -> tuple[Any, ...]:
    return types if isinstance(types, tuple) else (types,)


def _one_of(types: tuple[Any, ...], schemas: dict[int, Any]) -> Any:
    """Return the schema of a body that has one of some types."""
    found = [schemas[id(type)] for type in types]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _schemas(operations: list[Operation]) -> tuple[dict[int, Any], dict[str, Any]]:
    """Return the schema of every type by the type's identity, and the components they refer to."""
    types = [type for operation in operations for type in _types(operation)] + [ProblemDetails]
    made, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    return {id(type): schema for type, schema in zip(types, made, strict=True)}, components


def _operation(operation: Operation, schemas: dict[int, Any], points: list[str]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.handler.__name__.removeprefix("_"),
        "summary": operation.summary,
        "parameters": [*_in_path(operation, points), *_in_query(operation)],
        "responses": {
            str(status): _gives(type, schemas) for status, type in operation.gives.items()
        },
        "security": [{"key": []}] if operation.role else [],
    }
    if described["operationId"] in _LINKS:
        described["responses"]["200"]["links"] = _LINKS[described["operationId"]]
    if operation.role:
        described["description"] = f"Needs the role {operation.role}."
    if operation.takes:
        content = {JSON.decode(): {"schema": _one_of(operation.takes, schemas)}}
        described["requestBody"] = {"required": not operation.optional, "content": content}
    for status in _problems(operation):
        content = {MEDIA_TYPE.decode(): {"schema": schemas[id(ProblemDetails)]}}
        described["responses"][str(status)] = {
            "description": KINDS[status].title,
            "content": content,
        }
    return described


def _problems(operation: Operation) -> list[int]:
    found = {*_ALWAYS, *operation.problems}
    if operation.role:
        found |= {*_WITH_ROLE}
    if operation.takes:
        found |= {*_WITH_BODY, 503}
    if operation.query:
        found |= {422}
    if "{" in operation.path:
        found |= {400, 404, 422, 503}
    return sorted(found)


def _gives(types: Any, schemas: dict[int, Any]) -> dict[str, Any]:
    if not isinstance(types, str):
        schema = _one_of(_tuple(types), schemas)
        return {"description": "Done.", "content": {JSON.decode(): {"schema": schema}}}
    content = {types: {"schema": {"type": "string"}}}
    described: dict[str, Any] = {"description": "Done.", "content": content}
    if types == LINES.decode():
        number = {"type": "integer", "minimum": 0}
        described["headers"] = {NEXT.decode().title(): {"required": True, "schema": number}}
    return described


def _in_path(operation: Operation, points: list[str]) -> list[dict[str, Any]]:
    schemas = {
        "point": {"type": "string", "enum": points},
        "id": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
        "arm": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_ARM,
            "pattern": ARM_PATTERN,
            "not": {"enum": [*NO_ARMS]},
        },
    }
    return [
        {"name": name, "in": "path", "required": True, "schema": schemas[name]}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]


def _in_query(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    _, components = msgspec.json.schema_components([operation.query])
    fields = components[operation.query.__name__]["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": field}
        for name, field in fields.items()
    ]


def _fill_in(components: dict[str, Any], points: Mapping[str, "Point"]) -> None:
    """Say what contexts, arms and objectives there are: the types know that they are names."""
    known = [point.definition for point in points.values()]
    features = [[(f.name, _feature(f), f.missing == "refuse") for f in d.context] for d in known]
    columns = [[(name, _column(one), need) for name, one, need in some] for some in features]
    values = [[(o.name, _reward(o), False) for o in d.objectives] for d in known]
    means = [[(o.name, _number(o), True) for o in d.objectives] for d in known]
    arms = sorted({arm for point in points.values() for arm in point.chooser.arms})
    components["Context"] = {"anyOf": [_object(some) for some in features]}
    components["Columns"] = {"anyOf": [_object(some) for some in columns]}
    components["Rewards"] = {"anyOf": [{**_object(some), "minProperties": 1} for some in values]}
    components["Means"] = {"anyOf": [_object(some) for some in means]}
    components["Allowed"] = {
        "anyOf": [
            {
                "type": "array",
                "items": {"type": "string", "enum": arms},
                "minItems": 1,
                "uniqueItems": True,
            },
            {"type": "null"},
        ]
    }
    for name, field, component in (
        ("DecisionRequest", "context", "Context"),
        ("DecisionRequest", "allowed", "Allowed"),
        ("DecisionColumns", "contexts", "Columns"),
        ("DecisionColumns", "allowed", "Allowed"),
        ("ExplainRequest", "context", "Context"),
        ("ExplainRequest", "allowed", "Allowed"),
        ("RewardRow", "values", "Rewards"),
        ("ArmRequest", "prior", "Means"),
    ):
        components[name]["properties"][field] = {"$ref": _REFERENCE.format(name=component)}
    components["ArmRequest"]["dependentRequired"] = {"prior": ["weight"], "weight": ["prior"]}


def _object(fields: Iterable[tuple[str, dict[str, Any], bool]]) -> dict[str, Any]:
    """Return the schema of an object with these fields: name, schema, and whether it is needed."""
    fields = list(fields)
    return {
        "type": "object",
        "properties": {name: schema for name, schema, _ in fields},
        "required": [name for name, _, needed in fields if needed],
        "additionalProperties": False,
    }


def _column(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema, "minItems": 1, "maxItems": MOST_ROWS}


def _ends(objective: Objective) -> tuple[float, float]:
    """Return the smallest and largest value that an objective takes."""
    return objective.range if objective.outside == "refuse" else (-LARGEST_REWARD, LARGEST_REWARD)


def _number(objective: Objective) -> dict[str, Any]:
    low, high = _ends(objective)
    return {"type": "number", "minimum": low, "maximum": high}


def _reward(objective: Objective) -> dict[str, Any]:
    """Return the schema of a reward: a number, or true and false where 1 and 0 are taken."""
    low, high = _ends(objective)
    taken = [flag for flag in (False, True) if low <= flag <= high]
    number = _number(objective)
    return {"anyOf": [number, {"enum": taken}]} if taken else number


def _feature(feature: Feature) -> dict[str, Any]:
    """Return the schema of a feature's values: all that it takes, and nothing else."""
    ends: dict[str, Any] = {}
    if isinstance(feature, Number | Vector) and feature.outside == "refuse":
        ends = {"minimum": feature.low, "maximum": feature.high}
    if isinstance(feature, Number | Cycle):
        schema: dict[str, Any] = {"type": "number", **ends}
    elif isinstance(feature, Flag):
        schema = {"type": "boolean"}
    elif isinstance(feature, Category):
        known: dict[str, Any] = {"maxLength": longest_text(feature)}
        if feature.outside == "refuse":
            known = {"enum": list(feature.values)}
        schema = {"type": "string", **known}
    elif isinstance(feature, Vector):
        one = {"type": "number", **ends}
        size = feature.length
        schema = {"type": "array", "items": one, "minItems": size, "maxItems": size}
    return schema if feature.missing == "refuse" else {"anyOf": [schema, {"type": "null"}]}
