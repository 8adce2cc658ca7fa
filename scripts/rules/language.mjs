/**
 * Words of a private dialect must not come back in comments, names, descriptions, messages, titles of tests and
 * documents. `words.json` lists each word with the words to use instead. A file that needs such a word is listed there
 * under `allowed`: `{ "file": "src/…", "word": "…", "reason": "…" }`. Lines of comments have at most 120 columns.
 */
import { readFileSync } from 'node:fs';
import { documents, lineOf, sources, walk } from './sources.mjs';

const MAX_COLUMNS = 120;
const { words, allowed } = JSON.parse(readFileSync(new URL('./words.json', import.meta.url), 'utf8'));
const PATTERN = new RegExp(`(?<![\\w-])(?:${Object.keys(words).join('|')})(?![\\w-])`, 'gi');
const wordsOf = (name) => name.replace(/([a-z\d])([A-Z])/g, '$1 $2').replaceAll('_', ' ');

export function languageFaults() {
  const faults = [];
  const look = (path, line, text) => {
    for (const [word] of text.matchAll(PATTERN)) {
      const known = word.toLowerCase();
      if (allowed.some((one) => one.file === path && one.word === known)) continue;
      faults.push(`${path}:${line}: "${word}": write ${words[known]}`);
    }
  };
  for (const { path, text } of documents) look(path, 1, withoutCode(text));
  for (const { path, text, program, comments } of sources) {
    for (const { value, start } of comments) {
      const first = lineOf(text, start);
      for (const [index, line] of value.split('\n').entries()) look(path, first + index, line);
    }
    const lines = text.split('\n');
    for (const { start, end } of comments)
      for (let line = lineOf(text, start); line <= lineOf(text, end); line += 1)
        if ((lines[line - 1] ?? '').length > MAX_COLUMNS && /^\s*(?:\/\/|\/?\*)/.test(lines[line - 1]))
          faults.push(`${path}:${line}: a line of a comment with more than ${MAX_COLUMNS} columns`);
    const isProduct = path.startsWith('src/');
    walk(program, (node) => {
      if (
        node.type === 'Literal' &&
        typeof node.value === 'string' &&
        (isProduct || node.isTitle) &&
        / /.test(node.value)
      )
        look(path, lineOf(text, node.start), node.value);
      else if (node.type === 'TemplateElement' && isProduct) look(path, lineOf(text, node.start), node.value.raw);
      else if (node.type === 'Identifier' && isProduct) look(path, lineOf(text, node.start), wordsOf(node.name));
      else if (node.type === 'CallExpression' && /^(?:test|describe)/.test(text.slice(node.start, node.start + 8)))
        for (const argument of node.arguments.slice(0, 1)) argument.isTitle = true;
    });
  }
  return faults;
}

const withoutCode = (markdown) => markdown.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '');
