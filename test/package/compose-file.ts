/** A value of a YAML file as `compose.yaml` uses it. */
type Yaml = string | Yaml[] | { readonly [key: string]: Yaml };

interface Line {
  readonly indent: number;
  readonly text: string;
}

/**
 * Parses the subset of YAML that `compose.yaml` uses: mappings and lists by indentation, lists in brackets, quoted and
 * plain strings. Anchors, tags and strings of several lines are not supported. All scalars are strings. A key without a
 * value is ''.
 */
export function readCompose(yaml: string): Yaml {
  const lines = yaml
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .map((line): Line => ({ indent: line.search(/\S/), text: line.trim() }));
  let next = 0;

  function block(indent: number): Yaml {
    return lines[next]?.text.startsWith('- ') ? list(indent) : mapping(indent);
  }

  function list(indent: number): Yaml[] {
    const items: Yaml[] = [];
    for (let line = lines[next]; line?.indent === indent && line.text.startsWith('- '); line = lines[next]) {
      const text = line.text.slice(2);
      if (/^[\w-]+:( |$)/.test(text)) {
        // The item is a mapping whose first key follows the dash.
        lines[next] = { indent: indent + 2, text };
        items.push(mapping(indent + 2));
      } else {
        next += 1;
        items.push(scalar(text));
      }
    }
    return items;
  }

  function mapping(indent: number): Yaml {
    const entries: [string, Yaml][] = [];
    for (let line = lines[next]; line?.indent === indent; line = lines[next]) {
      const [, key = '', rest = ''] = /^([\w-]+):\s*(.*)$/.exec(line.text) ?? [];
      if (key === '') throw new Error(`Not a line of a mapping: ${line.text}`);
      next += 1;
      const below = lines[next];
      if (rest !== '') entries.push([key, scalar(rest)]);
      else entries.push([key, below !== undefined && below.indent > indent ? block(below.indent) : '']);
    }
    return Object.fromEntries(entries);
  }

  const read = block(0);
  if (next < lines.length) throw new Error(`Unsupported indentation: ${lines[next]?.text}`);
  return read;
}

function scalar(text: string): Yaml {
  if (text.startsWith('['))
    return text
      .slice(1, -1)
      .split(/,\s*/)
      .map((item) => unquoted(item.trim()));
  return unquoted(text);
}

const unquoted = (text: string): string => /^(["'])(.*)\1$/.exec(text)?.[2] ?? text;
