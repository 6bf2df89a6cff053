// How the search page finds and ranks.  Sphinx runs this between its own code and the index (html_search_scorer), and
// book_search.py puts before this what it knows of error messages: MESSAGES, by anchor, as [title, ours, PyTorch's].
const MESSAGES_PAGE = 'chapters/26-pitfalls/messages';
const RARELY_MEANT = /^docs\/(decisions|appendix|api\/(derivatives|planned|op-tests))/;

// Sphinx's own figures, but that the shorter of two names comes first.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    score - (description ? title.split('.').length : 0) - (RARELY_MEANT.test(page) ? 4 : 0),
  objNameMatch: 21, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};

// The sections of the error messages that were typed in: as tensorlab/cli/explain.py finds them.
const sectionsFor = query => {
  const message = query.trim().replace(/^[\w.]*(?:Error|Exception): /, '');
  const withoutNumbers = text => text.toLowerCase().replace(/-?\d+(, -?\d+)*/g, '0');
  const asked = withoutNumbers(message), isLong = asked.split(/\s+/).length > 2;
  const sections = Object.entries(MESSAGES);
  const own = sections.find(([, [, ours]]) => new RegExp(ours).test(message));
  return own ? [own] : sections.filter(([, [, , theirs]]) => {
    const known = withoutNumbers(theirs);
    return asked.includes(known) || (isLong && known.includes(asked));
  });
};

{
  const {query, _performSearch} = Search;
  let typed = '';
  Search.query = text => {
    typed = text;  // names as programs write them:
    return query(text.replace(/\btorch\.(?=\w)/g, 'tensorlab.').replace(/\bF\.(?=\w)/g, 'functional.'));
  };
  Search._performSearch = (text, ...terms) => {
    const page = Search._index.docnames.indexOf(MESSAGES_PAGE);
    const found = sectionsFor(typed).map(([anchor, [title]]) =>
      [MESSAGES_PAGE, `Error messages > ${title}`, `#${anchor}`, null, 100, Search._index.filenames[page]]);
    return [..._performSearch(text, ...terms), ...(page < 0 ? [] : found)];  // the last ones are shown first
  };
}
