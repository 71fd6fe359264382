# Tasks: states.

state-draft = Borrador
state-ready = Lista
state-processing = En proceso
state-partially_completed = Finalizada en parte
state-completed = Finalizada
state-task_cancelled = Cancelada
state-line_pending = Pendiente
state-validated = Validada
state-applied = Aplicada
state-failed = Falló

# The list.

tasks-lead = Trabajo pendiente: quién procesa qué, y qué está libre.
tasks-task = Tarea
tasks-number = n.º { $id }
tasks-status = Estado
tasks-lock = Bloqueo
tasks-lines = Líneas
tasks-lines-done = { $done } de { $all }
tasks-lines-applied = aplicadas
tasks-changed = Último cambio
tasks-any-status = Todos
tasks-any-lock = Todas
tasks-lock-free = Libres
tasks-lock-locked = Bloqueadas
tasks-lock-mine = Las mías
tasks-new = Nueva tarea
tasks-empty = No hay tareas
tasks-none-match = Ninguna tarea coincide con los filtros
tasks-bad-lock = "{ $value }" no dice cómo está el bloqueo; elija de la lista
tasks-empty-what = Una tarea es un movimiento de existencias con sus líneas. Cree la primera; quien la procese la tendrá bloqueada mientras trabaje.
tasks-empty-viewer = Cuando alguien cree una tarea, se verá aquí, con quién la procesa.
tasks-held-mine = La procesa usted desde
tasks-offered-to = Ofrecida a { $name }
tasks-offer-ends = Termina
tasks-place = · su puesto en la fila: { $place }
tasks-waiting = { $count ->
        [one] · 1 espera
       *[other] · { $count } esperan
    }

# One task.

task-number = Tarea { $id }
task-by = Creada por { $name }
task-ready = Marcar lista
task-readied = La tarea está lista para procesar
task-cancel = Cancelar la tarea
task-cancel-title = ¿Cancelar la tarea?
task-cancel-what = No se procesará más. Lo que ya se aplicó queda aplicado.
task-cancel-keep = { $count ->
        [one] 1 línea ya se aplicó. Conservarla en el stock
       *[other] { $count } líneas ya se aplicaron. Conservarlas en el stock
    }
task-cancel-reason = Motivo (opcional)
task-cancelled = La tarea quedó cancelada
task-no-lines = Todavía no tiene líneas
task-no-lines-what = Edite el borrador y agregue al menos una; después márquela lista.
task-result-all = { $applied ->
        [one] Su única línea está aplicada.
       *[other] Sus { $applied } líneas están aplicadas.
    }
task-result-some = { $applied ->
        [0] No se aplicó ninguna línea
        [one] Se aplicó 1 línea
       *[other] Se aplicaron { $applied } líneas
    } y { $open ->
        [one] falta 1: abajo dice por qué.
       *[other] faltan { $open }: abajo dice por qué.
    }
task-result-again = Procésela otra vez, corrija y finalice; lo aplicado no se repite.
task-next = Siguiente: { $title }
task-others = Ver las libres
task-result-cancelled = No se procesará más.
task-held-from = la tuvo desde
task-held-to = hasta
task-history-more = Lo anterior está en la API.
task-did-created = creó la tarea
task-did-edited = cambió el borrador
task-did-ready = la marcó lista
task-did-processing = empezó a procesarla
task-did-line_edited = cambió la línea { $line }
task-did-line_validated = validó la línea { $line }
task-did-line_applied = aplicó la línea { $line }
task-did-line_failed = no pudo aplicar la línea { $line }
task-did-finalized = { $status ->
        [completed] la finalizó
       *[other] la finalizó en parte
    }
task-did-cancelled = la canceló

line-article = Artículo
line-amount = Cantidad o series
line-amount-or-serials = Cantidad, o números de serie
line-actions = Acciones
line-quantity = Cantidad
line-serials = Números de serie
line-quantity-of = Cantidad de la línea { $line }, { $sku }
line-serials-of = Números de serie de la línea { $line }, { $sku }
line-no-serials = Sin números de serie todavía
line-movement = Movimiento
line-in = Entrada
line-out = Salida
line-kind = Se cuenta
line-by-quantity = Por cantidad
line-by-serials = Por número de serie

# Drafts.

draft-edit = Editar borrador
draft-lead = Escriba qué se mueve. Mientras sea borrador, cualquiera con permiso puede cambiarla; nadie puede procesarla.
draft-title = Título
draft-title-example = Recepción de notebooks, factura 1182
draft-more = Agregar línea
draft-hint = Las líneas vacías no cuentan. Varios números de serie: uno por renglón, o separados por comas.
draft-save = Guardar borrador
draft-save-ready = Guardar y marcar lista
draft-saved = El borrador quedó guardado
draft-over = La tarea ya no es un borrador: está { task-status }. { $status ->
        [completed] Ya no cambia; si falta algo, cree otra.
        [cancelled] Ya no cambia; si hace falta, cree otra.
       *[other] Para corregir sus líneas, procésela.
    }
draft-over-kept = Lo que escribió no se guardó; sigue abajo para que pueda copiarlo.
draft-see = Ver la tarea
draft-changed = { $name } cambió este borrador mientras usted escribía
draft-changed-what = Lo suyo no se guardó todavía y sigue abajo. Compare, y guarde lo suyo o cargue lo guardado.
draft-stored = Lo que está guardado ahora
draft-load = Descartar lo mío y cargar esto
draft-save-anyway = Guardar lo mío de todos modos
draft-newer = Otra persona guardó cambios en este borrador mientras usted escribe. Lo suyo sigue aquí; al guardar podrá comparar.
draft-newer-over = La tarea ya no es un borrador: lo que escribe aquí no se podrá guardar. Cópielo si lo necesita.
draft-restored = Lo que escribió y no guardó sigue aquí.
draft-ended = Su sesión terminó; lo que escribió sigue aquí. Guárdelo otra vez.
draft-no-answer = El servidor no contesta. No se guardó nada; lo que escribió sigue aquí, también si cierra la página. Pruebe de nuevo.
draft-discard = Descartar
draft-bad-sku = Línea { $line }: escriba qué artículo es
draft-bad-quantity = Línea { $line }: la cantidad es un número entero de 1 a 1.000.000.000.000
draft-twice = Línea { $line }: el número de serie { $serial } está dos veces
draft-bad-serial = Línea { $line }: un número de serie es demasiado largo o tiene caracteres extraños

# Process mode.

process = Procesar
process-free = Nadie la está procesando.
process-noscript = Para procesar hace falta JavaScript: solo la página sabe si usted sigue ahí.
process-read-only = Usted puede mirar; cambiarla, solo quien la tiene.
process-reserved = Le toca primero, por un momento.
process-ask = Solicitar liberación
process-ask-what = Se le avisa enseguida a quien la tiene, con el nombre de usted.
process-ask-message = Mensaje (opcional)
process-ask-send = Solicitar
process-asked = Pidió a las { $at } que la libere; a { $name } se le avisó.
process-declined = { $name } contestó a las { $at }: ahora no.
process-not-asked = Ya no la tiene nadie: puede procesarla.
process-turn = Pedir turno
process-position = Está en la fila: puesto { $position }
process-next = Es el siguiente en la fila
process-leave-turn = Dejar la fila
process-missed = Era su turno y pasó; puede pedir otro.
process-missed-free = Era su turno y pasó; sigue libre, puede procesarla.
process-over-completed = Usted esperaba turno: ya no hace falta, la tarea se finalizó.
process-over-cancelled = Usted esperaba turno: ya no hace falta, la tarea se canceló.
turns-over = Ya no espera turno: la tarea se finalizó.
turns-cancelled = Ya no espera turno: la tarea se canceló.
turns-missed = Era su turno y pasó.
process-left = No se guardó lo que usted escribió: { $typed }
process-offered = ¡Es su turno!
process-offered-what = Se la guardamos { $left } más.
process-offered-title = ¡Su turno! { $left } · { $title }
process-pass = Dejar pasar
process-elsewhere = La procesa usted en otra ventana desde
process-moved-near = Usted siguió en otra ventana a las { $at }
process-moved-far = Usted siguió en otro navegador o equipo a las { $at }
process-moved-what = En esta ventana ahora solo puede mirar.
process-here = Continuar aquí
process-renewing = Se renueva sola mientras usted trabaje.
process-waiting = { $count ->
        [one] 1 persona espera su turno
       *[other] { $count } personas esperan su turno
    }
process-silent = Sin respuesta del servidor desde las { $since }. Su bloqueo vale hasta las { $until }; siga, se guarda después.
process-leave = Dejar la tarea
process-warned = ¿Sigue ahí?
process-warn-idle = Sin actividad la pierde en { $left }. Cualquier tecla o toque la conserva.
process-warn-rolling = Hace rato que no guarda nada: la pierde en { $left }. Guarde o valide una línea para conservarla.
process-keep = Seguir trabajando
process-requested = { $name } pide que la libere (a las { $at }).
process-release = Liberar
process-not-now = Ahora no
process-unknown = No se sabe si sigue siendo suya
process-unknown-what = El servidor no contesta desde hace demasiado. Hasta saberlo no se puede cambiar nada; lo que escribió sigue aquí.
process-ended = Ya no está en sesión
process-ended-what = No se sabe quién tiene la tarea ahora, y aquí ya no se puede cambiar nada.
process-ended-kept = Lo que escribió sin guardar sigue abajo: puede copiarlo, y si entra de nuevo con su usuario en este navegador lo encuentra aquí.
process-lost = Lock perdido
process-lost-no_heartbeat = Venció porque esta página dejó de renovarlo: se cortó la conexión, el equipo estuvo suspendido o el servidor no contestó.
process-lost-idle = Venció porque no hubo actividad.
process-lost-rolling_timeout = Venció porque pasó demasiado tiempo sin guardar ni validar nada.
process-lost-override = { $name } intervino: { $note }
process-lost-user_disabled = Su usuario fue deshabilitado.
process-lost-released = La liberó usted, en otra ventana o al salir de esta.
process-lost-other = Ya no es suya.
process-kept = Lo que escribió sigue abajo, sin guardar.
process-retry = Reintentar claim
process-finishing = Finalizando línea por línea…
process-force-release-title = ¿Liberar esta tarea a la fuerza?
process-force-claim-title = ¿Tomar el lock de esta tarea?
process-save = Guardar
process-discard = Descartar lo mío
process-saving = Guardando…
process-saved = Guardado
process-unsaved = Sin guardar
process-conflict = Sin guardar. Mientras tanto se guardó: { $saved }
process-conflict-by = Sin guardar. Mientras tanto { $name } guardó: { $saved }
process-conflict-mine = Sin guardar. Mientras tanto usted guardó en otra ventana: { $saved }
process-retrying = Sin guardar: no hubo respuesta. Se vuelve a intentar solo.
process-no-answer = No hubo respuesta del servidor. Pruebe de nuevo.
process-asking = Pidiendo…
process-slow = El servidor tarda en contestar; se sigue esperando.
process-leaving = El servidor no contesta: la tarea se deja en cuanto conteste.
process-leaving-save = El servidor no contesta: la tarea se deja en cuanto se guarde lo que escribió.
process-sign-out-unsaved = Hay algo escrito que no se puede guardar así. Queda en este navegador, sin guardar. ¿Salir igual?
process-validate-none = No se sabe si quedó validada: no hubo respuesta. Pruebe de nuevo.
process-finishing-silent = El servidor no contesta desde las { $since }: no se sabe todavía si se finalizó. Se sigue preguntando solo; nada se aplica dos veces.
process-stuck = No se pudo guardar todo; revise lo marcado antes de finalizar.
process-stuck-line = Todavía no se puede finalizar. Línea { $line }: { $why }
process-bad-quantity = La cantidad es un número entero de 1 a 1.000.000.000.000.
process-bad-serials = Escriba al menos un número de serie.
process-validate = Validar
process-validate-line = Validar la línea { $line }
process-validated = La línea { $line } está validada.
process-finalize = { $count ->
        [one] Finalizar (1 línea)
       *[other] Finalizar ({ $count } líneas)
    }
process-finalize-what = Cada línea se aplica por separado: si una falla, las otras no se detienen.
process-keys-save = Lo que escribe se guarda solo
process-keys-next = pasa a la línea siguiente (en números de serie, al renglón siguiente)
process-keys-finalize = finaliza
key-enter = Intro
