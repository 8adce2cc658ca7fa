import { type FormEvent, useState } from 'react';
import { useBroker } from '../broker/broker-context.ts';
import { ask } from '../graph/ask.ts';
import { graphql } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { saveFile } from '../ui/csv.ts';
import { Field } from '../ui/field.tsx';
import { Refusal } from '../ui/problem.tsx';
import { useAccess } from './access-context.ts';
import { PlanDialog, type Source } from './plan-dialog.tsx';
import { accessTexts } from './texts.ts';

const EXPORT = graphql(`query ExportAccessControl($id: ID!) { exportAccessControl(brokerId: $id) }`);

/** The access control as a file: export, and import after a plan. */
export function Documents() {
  const text = useTexts(accessTexts);
  const { brokerId } = useAccess();
  const { name } = useBroker();
  const [error, setError] = useState<RefusedError | null>(null);
  const save = async () => {
    const { data, error: refused } = await ask(EXPORT, { id: brokerId });
    setError(refused);
    if (data)
      saveFile(`${name}.access.json`, 'application/json', [`${JSON.stringify(data.exportAccessControl, null, 2)}\n`]);
  };
  return (
    <>
      <h2>{text('export')}</h2>
      <p className="quiet">{text('exportMeans')}</p>
      <Refusal error={error} />
      <p>
        <button type="button" onClick={() => void save()}>
          {text('exportNow')}
        </button>
      </p>
      <CopyAs document={EXPORT} variables={{ id: brokerId }} />
      <h2>{text('import')}</h2>
      <p className="quiet">{text('importMeans')}</p>
      <ImportForm />
    </>
  );
}

function ImportForm() {
  const text = useTexts(accessTexts);
  const [content, setContent] = useState('');
  const [deleteOthers, setDeleteOthers] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [source, setSource] = useState<Source | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = sourceOf(content);
    setProblem(found ? null : text('noJson'));
    setSource(found);
  };
  return (
    <>
      <form className="fields access-fields" onSubmit={submit}>
        <Field label={text('file')}>
          <input
            type="file"
            accept=".json,application/json"
            onChange={({ currentTarget: { files } }) => void files?.[0]?.text().then((read) => setContent(read))}
          />
        </Field>
        <Field label={text('documentText')} hint={text('documentHint')}>
          <textarea
            rows={10}
            spellCheck={false}
            value={content}
            required
            onInput={({ currentTarget: { value } }) => setContent(value)}
          />
        </Field>
        <label>
          <input
            type="checkbox"
            checked={deleteOthers}
            onChange={({ currentTarget: { checked } }) => setDeleteOthers(checked)}
          />{' '}
          {text('deleteOthers')}
        </label>
        {problem !== null && <p role="alert">{problem}</p>}
        <p className="buttons">
          <button type="submit">{text('plan')}</button>
        </p>
      </form>
      {source && <PlanDialog source={source} deleteOthers={deleteOthers} onClose={() => setSource(null)} />}
    </>
  );
}

/** A document of this service names its format; the file of Mosquitto does not. `null`: no JSON object. */
function sourceOf(content: string): Source | null {
  try {
    const document: unknown = JSON.parse(content);
    if (typeof document !== 'object' || document === null) return null;
    return 'format' in document ? { document: content } : { mosquittoFile: content };
  } catch {
    return null;
  }
}
