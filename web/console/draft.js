// Writing a task: more lines than the form came with. Without this file, saving brings new empty ones.

const rows = document.getElementById('rows');
const more = document.getElementById('more');

more.hidden = false;
more.addEventListener('click', () => {
  const row = rows.lastElementChild.cloneNode(true);
  for (const field of row.querySelectorAll('input, textarea')) field.value = '';
  for (const field of row.querySelectorAll('select')) field.selectedIndex = 0;
  rows.append(row);
  row.querySelector('input').focus();
});
