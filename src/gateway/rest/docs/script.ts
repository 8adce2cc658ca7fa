/** Maximum length of a response body that the page shows. */
const MAX_SHOWN = 1_000_000;

/**
 * The script of the HTML page: the search, and the forms that send requests. Input of the user and of responses is only
 * written as text. The token is nowhere but in its input element.
 */
export const SCRIPT = `
const search = document.getElementById('search');
const sections = [...document.querySelectorAll('section')];
function filter() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let found = 0;
  for (const section of sections) {
    let shown = 0;
    for (const entry of section.querySelectorAll('details')) {
      entry.hidden = !words.every((word) => entry.dataset.text.includes(word));
      if (!entry.hidden) shown++;
    }
    section.hidden = shown === 0;
    found += shown;
  }
  document.getElementById('found').textContent = found === 0 ? 'No operation matches.' : found === 1 ? '1 operation' : found + ' operations';
}
search.addEventListener('input', filter);
filter();
if (location.hash) { const entry = document.getElementById(decodeURIComponent(location.hash.slice(1))); if (entry) { entry.open = true; entry.scrollIntoView(); } }

// A proxy may serve the service below a path. This page is at /api/docs.
const root = new URL('..', location.href).pathname.slice(0, -1);
const fieldsOf = (form, place) => [...form.querySelectorAll('[data-in="' + place + '"]')];
function urlOf(form) {
  let path = root + form.dataset.path;
  for (const { name, value } of fieldsOf(form, 'path')) path = path.replace('{' + name + '}', () => encodeURIComponent(value));
  const query = new URLSearchParams(fieldsOf(form, 'query').filter(({ value }) => value !== '').map(({ name, value }) => [name, value]));
  return query.size > 0 ? path + '?' + query : path;
}
function requestOf(form) {
  const headers = new Headers();
  const token = document.getElementById('token').value.trim().replace(/^bearer\\s+/i, '');
  if (token !== '') headers.set('authorization', 'Bearer ' + token);
  const body = form.querySelector('textarea')?.value || undefined;
  if (body !== undefined) headers.set('content-type', 'application/json');
  return { method: form.dataset.method, headers, body, cache: 'no-store', credentials: 'omit', redirect: 'error' };
}
async function textOf(response) {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (text.length <= ${MAX_SHOWN}) continue;
    await reader.cancel();
    return text.slice(0, ${MAX_SHOWN}) + '\\n… only the first ${MAX_SHOWN} characters are shown';
  }
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}
async function send(form) {
  if (form.ariaBusy === 'true') return;
  form.ariaBusy = 'true';
  const status = form.querySelector('[role=status]');
  const [headers, body] = form.querySelectorAll('pre');
  const show = (element, text) => { element.textContent = text; element.hidden = text === ''; };
  show(headers, '');
  show(body, '');
  status.textContent = 'Waiting for the response';
  const start = performance.now();
  try {
    const response = await fetch(urlOf(form), requestOf(form));
    show(headers, [...response.headers].map(([name, value]) => name + ': ' + value).join('\\n'));
    show(body, await textOf(response));
    status.textContent = response.status + ' ' + response.statusText + ', ' + Math.round(performance.now() - start) + ' ms';
  } catch (error) {
    status.textContent = 'No response: ' + error.message;
  }
  form.ariaBusy = 'false';
}
const dialog = document.querySelector('dialog');
let confirmed = () => {};
function start(form) {
  if (!form.reportValidity()) return;
  if (form.dataset.method !== 'DELETE') return void send(form);
  document.getElementById('request').textContent = 'DELETE ' + urlOf(form);
  confirmed = () => void send(form);
  dialog.showModal();
}
document.getElementById('cancel').addEventListener('click', () => dialog.close());
document.getElementById('confirm').addEventListener('click', () => { dialog.close(); confirmed(); });
document.addEventListener('click', ({ target }) => { if (target.matches('form button')) start(target.form); });
// Enter in a field sends nothing.
document.addEventListener('submit', (event) => event.preventDefault());
// A project or a broker is entered once.
document.addEventListener('input', ({ target: { dataset, name, value } }) => {
  if (dataset.in === 'path') for (const field of fieldsOf(document, 'path')) if (field.name === name) field.value = value;
});`;
